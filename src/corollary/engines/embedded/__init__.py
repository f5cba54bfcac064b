"""The embedded engine: relations of codes in memory, joins in compiled loops."""
