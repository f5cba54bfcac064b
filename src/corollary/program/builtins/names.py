"""The name spaces of built-ins."""

FUNC = "http://www.w3.org/2007/rif-builtin-function#"
PRED = "http://www.w3.org/2007/rif-builtin-predicate#"
HAS_VALUE = "HAS_VALUE"
"""What `ADD(X, 1, _)` means: that the sum has a value."""
ROUND_TO_BITS = "ROUND_TO_BITS"
"""What the setting `precision` does to the sides of comparisons."""
