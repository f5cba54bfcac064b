"""The Yield index: the experiments of paper 003, and what it saves a stream of inserts."""
