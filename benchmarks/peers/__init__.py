"""Other engines on the same data. They run in an environment of their own, one module of this package for each."""
