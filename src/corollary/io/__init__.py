"""Reading and writing data files as Arrow tables; `formats` lists the formats."""

from corollary.io.formats import Format, fact_files, file_name, format_of
from corollary.io.options import ReadOptions
from corollary.io.read import Loaded, read_file
from corollary.io.rejects import Reject, Rejects

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
