"""Where hyper-node jobs run: embedded in this process, or on Spark."""
