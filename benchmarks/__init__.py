"""Benchmarks: `python -m benchmarks` runs them. Importing this package imports nothing else."""
