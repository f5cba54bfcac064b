"""Following a stream of updates fact by fact, with a look-ahead at the next update (paper 004)."""
