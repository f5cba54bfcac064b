"""The language: how fast its text is read (`reading`), and the experiments of paper 001 with queries on demand."""
