"""What a load tells about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadReport:
    """How many facts a source had (with duplicates), how many of them are new, how many rows were rejected, and how long the
    stages took: `ingest` reads, checks and makes ids, `encode` appends to the universe and stores the new facts."""

    source: str
    read: int
    new: dict[str, int]
    rejected: int
    ingest_seconds: float
    encode_seconds: float
