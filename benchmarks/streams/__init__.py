"""Streams of updates, with and without a look at the next one: the experiments of paper 004, and longer ones."""
