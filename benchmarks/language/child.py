"""`python -m benchmarks.language.child NAME full|quick`: one experiment in a process of its own, printed as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from benchmarks.language.experiments import run_experiment


def main(name: str, sizes: str) -> None:
    print(json.dumps(asdict(run_experiment(name, quick=sizes == "quick"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
