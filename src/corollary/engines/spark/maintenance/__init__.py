"""Incremental maintenance on Spark: derived facts follow changes of facts and rules."""
