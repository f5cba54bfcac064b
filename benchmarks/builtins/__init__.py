"""Built-ins on ten million rows, on both engines."""
