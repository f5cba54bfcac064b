"""Settings of hypothesis; how many examples it makes is the setting of `tests.budgets`.

In CI the examples of a test are always the same, so that a change is judged by what it changes; everywhere else they are new in
every run.

Tests of Spark are one group, so that one process of xdist has a session: a second one would be slow again until Java has compiled
what runs often, which takes minutes. The other processes begin with the many tests without a group.
"""

import os
import signal
from collections.abc import Iterator

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
    """A process has one Spark session."""
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(autouse=True)
def _plans(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("spark") is None or request.node.get_closest_marker("compiled_plans") is None:
        yield
        return
    from tests.services.spark_session import compiled_plans

    with compiled_plans():
        yield
