"""Relations of codes: rows that grow, the sets that know them, and indexes, all in memory that kernels reach by address."""
