"""Constants as codes: the universe that numbers them, and what is computed on whole columns of them."""
