"""`import corollary` is quick, and works without any extra."""

import subprocess
import sys


def test_importing_corollary_imports_none_of_the_heavy_packages() -> None:
    script = "import sys, corollary; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()).isdisjoint({"numba", "pandas", "py4j", "pyspark"})
