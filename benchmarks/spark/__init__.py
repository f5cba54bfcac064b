"""What the Spark engine takes, beside a plain loop over data frames, beside the embedded engine, and on growing data."""
