"""Following a stream of updates tuple by tuple, with a look at the next update (paper 004)."""
