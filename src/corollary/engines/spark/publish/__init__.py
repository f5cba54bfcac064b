"""The stage publish: relations of ids become data frames of values, views, files, Delta tables and database tables."""
