"""The embedded engine: relations of codes in memory, joins in compiled loops."""

from corollary.engines import kernel_cache  # noqa: F401  (before the first kernel is made)
