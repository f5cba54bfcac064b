"""`python -m tests.engines.embedded.long_run --minutes 10`: generated programs with scripts of changes, for a given time.

Every program runs with every strategy, and every state, difference and answer is compared with the oracle's. At the end, and
when a program fails, it says how many programs it tried and from which seeds they came; a failure is shrunk first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings

from corollary.engines.embedded.maintenance import rule_changes, strategies
from corollary.settings import STRATEGIES
from tests.engines.embedded.scenarios import follow
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, PURE, Profile, Scenario, scenarios

PROFILES = {"everything": EVERYTHING, "positive": POSITIVE, "pure": PURE, "integers": INTEGERS}
_AT_A_TIME = 25  # programs of one seed


class LongRun:
    """Programs of one seed after the other."""

    def __init__(self, first_seed: int) -> None:
        self.first_seed = self.seed = first_seed
        self.programs = 0
        self.changes = 0

    def one_seed(self) -> None:
        """The profiles take turns, and so does whether small changes count as small: large ones are derived anew."""
        names = list(PROFILES)
        profile = PROFILES[names[self.seed % len(names)]]
        at_least = 0 if self.seed // len(names) % 2 else strategies._AT_LEAST
        many = 0 if at_least == 0 else rule_changes._MANY
        with patch.object(strategies, "_AT_LEAST", at_least), patch.object(rule_changes, "_MANY", many):
            self._try(profile)
        self.seed += 1

    def _try(self, profile: Profile) -> None:
        @settings(
            max_examples=_AT_A_TIME,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            deadline=None,
            database=None,
        )
        @given(scenarios(profile))
        def some(scenario: Scenario) -> None:
            self.programs += 1
            self.changes += len(scenario.changes)
            for strategy in STRATEGIES:
                follow(scenario, strategy)

        seed(self.seed)(some)()

    def __str__(self) -> str:
        return (
            f"{self.programs:,} programs with {self.changes:,} changes, each with {len(STRATEGIES)} strategies; "
            f"seeds {self.first_seed} to {max(self.first_seed, self.seed - 1)}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.engines.embedded.long_run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default 5)")
    parser.add_argument("--seed", type=int, default=None, help="where to start; otherwise somewhere")
    options = parser.parse_args(arguments)
    run = LongRun(options.seed if options.seed is not None else time.time_ns() % 1_000_000)
    print(f"Generated programs for {options.minutes:g} minutes, from seed {run.first_seed} on", flush=True)
    until = told = time.monotonic()
    until += options.minutes * 60
    while True:
        try:
            run.one_seed()
        except BaseException:
            print(f"FAILED at seed {run.seed} after {run}", file=sys.stderr, flush=True)
            print(f"Again: make test-programs SEED={run.seed} MINUTES=0", file=sys.stderr, flush=True)
            raise
        now = time.monotonic()
        if now >= until:
            break
        if now - told > 30:
            told = now
            print(f"  so far {run}", flush=True)
    print(f"Tried {run}: all states, differences and counts are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
