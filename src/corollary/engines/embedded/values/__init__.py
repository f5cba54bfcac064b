"""Constants as codes: the universe that numbers them, and computations on whole columns of codes."""
