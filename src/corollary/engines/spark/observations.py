"""What an `Observation` saw. Of a plan that Spark finds to be empty it removes the observer, and then has nothing to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Observation


def seen_by(observation: Observation) -> dict[str, Any]:
    """The metrics of a finished job; none where Spark removed the observer, since there was no row to see."""
    try:
        return observation.get
    except Exception as error:
        if "toPyRow" in str(error):  # an assertion that the metrics have a schema, which metrics of nothing have not
            return {}
        raise
