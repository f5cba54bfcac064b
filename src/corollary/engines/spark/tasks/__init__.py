"""The embedded kernels inside Spark tasks: their input, their runs, their output."""
