"""What it costs to keep a knowledge base in a directory."""
