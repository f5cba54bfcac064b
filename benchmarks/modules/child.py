"""`python -m benchmarks.modules.child BENCHMARK ALGORITHM SCALE SETS LIMIT`: one trial in a process of its own, printed as JSON.

The tiny version runs first, so that modules are imported and kernels are compiled.
"""

from __future__ import annotations

import json
import sys

from benchmarks.modules.trial import run_trial

_TINY = 0.02


def main(benchmark: str, algorithm: str, scale: str, sets: str, limit: str) -> None:
    run_trial(benchmark, algorithm, scale=_TINY, sets=1)
    trial = run_trial(benchmark, algorithm, scale=float(scale), sets=int(sets), limit=float(limit))
    print(json.dumps(trial.as_dict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
