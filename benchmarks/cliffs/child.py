"""`python -m benchmarks.cliffs.child NAME SIZES`: one experiment in a process of its own, printed as JSON."""

from __future__ import annotations

import json
import sys

from benchmarks.cliffs.experiments import run_experiment


def main(name: str, sizes: str) -> None:
    print(json.dumps(run_experiment(name, sizes).as_dict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
