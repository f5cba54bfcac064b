"""Relations into Delta tables: tasks write Parquet into a new folder of the table, and deltalake commits it to the log."""

from __future__ import annotations

from pathlib import Path

from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.publish.failures import publishing
from corollary.engines.spark.publish.parquet import write_parts
from corollary.sources.delta import commit, new_folder, unit_table, write_table


def write_delta(rows: Decoded, path: Path, *, mode: str = "overwrite") -> int:
    """Writes a relation in one commit and gives the number of its rows. `mode`: overwrite, append, or error."""
    count = rows.summary.rows
    if not rows.frame.arity:
        write_table(unit_table(count).select([]), path, mode=mode)
        return count
    with new_folder(path, rows.schema, mode) as folder, publishing(path):
        files = [part for part, number in write_parts(rows, folder).items() if number] if count else []
        for other in set(folder.iterdir()) - set(files):
            other.unlink()  # Spark's marks of success and checksums, and parts without rows
        commit(path, rows.schema, files, mode)
    return count
