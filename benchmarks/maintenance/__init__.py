"""Benchmarks of changes: `python -m benchmarks maintenance` runs them. Importing this package imports nothing else."""
