"""`python -m benchmarks.spark.cold DIRECTORY OUT`: universities from a cold start, all stages; prints their seconds as JSON.

Whoever starts it takes the time of the whole process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks import ontology
from corollary import KnowledgeBase


def main(directory: str, out: str) -> None:
    kb = KnowledgeBase(ontology.program(), engine="spark", updates=False)
    started = time.perf_counter()
    kb.load_facts(directory)
    loaded = time.perf_counter()
    report = kb.materialise()
    derived = time.perf_counter()
    for predicate in ontology.derived():
        kb.write(predicate, Path(out) / f"{predicate}.parquet")
    published = time.perf_counter()
    stages = kb.stages
    kb.close()
    seconds = {
        **stages,
        "rest of loading": loaded - started - sum(stages.values()),
        "derive": derived - loaded,
        "publish": published - derived,
        "remove temporary tables": time.perf_counter() - published,
    }
    print(json.dumps({"seconds": seconds, "strategies": sorted({node.strategy for node in report.nodes})}))


if __name__ == "__main__":
    main(*sys.argv[1:])
