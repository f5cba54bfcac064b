"""Memory that does not suffice: a limit that was reached, and nothing has changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import resource, sys
from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError

rules = "n(2 * X) :- n(X), X < 1000000000. n(2 * X + 1) :- n(X), X < 1000000000. r(X + 1) :- m(X)."
KnowledgeBase(rules + "n(999999999). m(3).").count("n")  # loads what engines need
unfinished = KnowledgeBase(rules + "n(1).")
changed = KnowledgeBase(rules + "m(3).")
assert changed.count("n") == 0
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)
for run in (lambda: unfinished.count("n"), lambda: changed.insert("n", [(1,)])):
    try:
        run()
    except ProgramError as error:
        print(error)
print(changed.count("n"), list(changed.facts("r")))
"""


@pytest.mark.parametrize("megabytes", [60, 130, 400])
def test_memory_that_is_used_up_is_a_limit_that_was_reached(megabytes: int) -> None:
    """What runs out of memory depends on how much there is."""
    command = [sys.executable, "-c", _PROGRAM, str(megabytes)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert found.stdout.count("error[E302]: there is not enough memory for what the rules derive") == 2, found.stderr
    assert "'facts', 'rounds', 'seconds', 'memory' and 'depth'" in found.stdout
    assert found.stdout.splitlines()[-1] == "0 [(4,)]"
