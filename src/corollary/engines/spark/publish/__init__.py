"""Stage publish: relations of ids become data frames of values, views, files, Delta tables and tables of databases."""
