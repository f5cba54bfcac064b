"""`python -m corollary`."""

from corollary.cli import main

main()
