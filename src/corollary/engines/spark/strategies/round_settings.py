"""The settings of Spark that rounds need, for their time only; the session may be the user's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corollary.engines.spark.session import Setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def round_settings(partitions: int) -> tuple[Setting, ...]:
    """Every setting that a recursive hyper-node changes, with its reason."""
    return (
        Setting("spark.sql.shuffle.partitions", str(partitions), "relations that meet have the same partitions"),
        Setting("spark.sql.adaptive.enabled", "false", "joining partitions would undo the partitioning that rounds keep"),
        Setting(
            "spark.sql.requireAllClusterKeysForCoPartition", "false",
            "facts partitioned by their join key are compared as a whole without another shuffle",
        ),
        Setting("spark.sql.unionOutputPartitioning", "true", "base and deltas stay partitioned in their union"),
        Setting("spark.sql.autoBroadcastJoinThreshold", "-1", "a broadcast is a job of its own in every round"),
        Setting("spark.sql.constraintPropagation.enabled", "false", "constraints of old rounds pile up in the plans of new ones"),
    )  # fmt: skip


@contextmanager
def settings_for_rounds(spark: SparkSession, partitions: int) -> Iterator[None]:
    settings = round_settings(partitions)
    before = {setting.key: spark.conf.get(setting.key, None) for setting in settings}
    try:
        for setting in settings:
            spark.conf.set(setting.key, setting.value)
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)
