"""Constants on Spark: ids that any task makes by itself, and the universe that maps them to constants."""
