"""Data files in and out: csv, tsv, facts, parquet, JSON lines, N-Triples, N-Quads and Turtle as Arrow tables."""

from corollary.sources.formats import Format, fact_files, file_name, format_of
from corollary.sources.options import ReadOptions
from corollary.sources.read import Loaded, read_file
from corollary.sources.rejects import Reject, Rejects

__all__ = [
    "Format",
    "Loaded",
    "ReadOptions",
    "Reject",
    "Rejects",
    "fact_files",
    "file_name",
    "format_of",
    "read_file",
]
