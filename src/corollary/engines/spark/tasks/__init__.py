"""The embedded kernels inside Spark tasks: what goes in, what runs, what comes back."""
