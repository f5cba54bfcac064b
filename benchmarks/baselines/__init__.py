"""What the papers compare with and nobody would choose: algorithms that only their tables need, on the engine's own data.

Their kernels are compiled in each process: a cache would not notice that the engine's kernels, which they call, have changed.
"""
