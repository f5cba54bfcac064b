"""Paper 002, Tables 1 and 2: four algorithms, with and without modules, on graphs, universities, places and categories."""
