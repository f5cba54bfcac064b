"""Constants on Spark: ids that any task makes alone, and the universe that says what they stand for."""
