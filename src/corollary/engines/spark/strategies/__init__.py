"""How a hyper-node runs on Spark, one way per file, and the choice among them."""
