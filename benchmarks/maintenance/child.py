"""`python -m benchmarks.maintenance.child NAME SIZES STRATEGY`: one experiment in a process of its own, printed as JSON.

The tiny version runs first, so that modules are imported and kernels are compiled.
"""

from __future__ import annotations

import json
import sys

from benchmarks.maintenance.experiments import run_experiment
from benchmarks.maintenance.sizes import BY_NAME, TINY


def main(name: str, sizes: str, strategy: str) -> None:
    run_experiment(name, TINY, strategy)
    print(json.dumps(run_experiment(name, BY_NAME[sizes], strategy).as_dict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
