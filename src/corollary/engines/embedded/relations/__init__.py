"""Relations of codes: growing rows, their sets and indexes, all in memory that kernels reach by address."""
