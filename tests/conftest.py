"""Settings of hypothesis; how many examples it makes is the setting of `tests.budgets`.

In CI the examples of a test are always the same, so that a change is judged by what it changes; everywhere else they are new in
every run.

Tests of Spark are two groups, so that two processes of xdist have one session each and share the work; the many tests without a
group come last and fill what is left.
"""

import os
import signal
from collections import Counter

import pytest
from hypothesis import Phase, settings

from tests.budgets import examples

is_ci = os.environ.get("CI", "").lower() in ("1", "true")
settings.register_profile(
    "corollary", max_examples=examples(100), deadline=None, derandomize=is_ci, print_blob=not is_ci
)
# A test that fails is all that `tests.mutants` wants to know.
settings.register_profile(
    "mutants",
    settings.get_profile("corollary"),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
settings.load_profile("corollary")

# A shell starts what runs in the background with Ctrl-C ignored; every process that a test starts and interrupts would be, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A process has one Spark session: tests of a file stay together, and larger files choose their group first."""
    on_spark = [
        item for item in items if item.get_closest_marker("spark") and not item.get_closest_marker("xdist_group")
    ]
    sizes, groups = {"spark one": 0, "spark two": 0}, dict[str, str]()
    for file, size in Counter(str(item.path) for item in on_spark).most_common():
        groups[file] = min(sizes, key=lambda name: sizes[name])
        sizes[groups[file]] += size
    for item in on_spark:
        item.add_marker(pytest.mark.xdist_group(groups[str(item.path)]))
