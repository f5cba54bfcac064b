"""Where costs must not jump: changes beside deriving from scratch, growth of joins, small rounds, long programs, leaks."""
