"""What comes out of a transaction on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from corollary.engines.embedded.maintenance.transaction import StepReport
from corollary.engines.spark.maintenance.change_rows import ChangeRows


@dataclass
class Outcome:
    """The visible facts that a transaction took and brought, and what it cost, hyper-node by hyper-node."""

    deleted: dict[str, ChangeRows] = field(default_factory=dict)
    inserted: dict[str, ChangeRows] = field(default_factory=dict)
    steps: list[StepReport] = field(default_factory=list)
    explicit_deleted: int = 0
    explicit_inserted: int = 0
    seconds: float = 0.0
