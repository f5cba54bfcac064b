"""Rule bodies as relational algebra over data frames, and as SQL."""
