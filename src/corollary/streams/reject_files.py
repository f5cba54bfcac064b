"""The rejected changes of batches as files of JSON lines: a batch that is looked at twice writes the same file again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from corollary.engines.spark.streaming.change_columns import CODE, REASON, TEXT
from corollary.sources.atomic import replacing
from corollary.streams.batch_results import RejectedChange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def first_rows(rejected: pa.Table | DataFrame, count: int) -> list[tuple[str, str, str]]:
    """Codes, reasons and texts."""
    some = rejected.slice(0, count) if isinstance(rejected, pa.Table) else rejected.limit(count).toArrow()
    return [(row[CODE], row[REASON], row[TEXT]) for row in some.to_pylist()]


def write_rejected(rejected: pa.Table | DataFrame, folder: Path, number: int) -> None:
    """`batch-N.jsonl`: a file, or a directory of files where Spark has written them."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"batch-{number:010}.jsonl"
    if isinstance(rejected, pa.Table):
        lines = [RejectedChange(number, *row).as_dict() for row in first_rows(rejected, rejected.num_rows)]
        with replacing(target) as aside:
            aside.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        return
    from pyspark.sql import functions as F  # noqa: N812

    aside = folder / f".{target.name}"
    told = rejected.select(F.lit(number).alias("batch"), CODE, REASON, F.col(TEXT).alias("change"))
    told.write.mode("overwrite").json(aside.absolute().as_uri())
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)
