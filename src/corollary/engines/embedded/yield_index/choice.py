"""Which rules use the Yield index: what a user says, and for the others what a stream of changes has shown so far.

The index pays where most changes of a rule's facts complete nothing, and the ordinary way finds that out at a cost: by looking at
partial partners again and again. So a rule is watched: how many instances come and go for each changed fact, and how long that
takes. What was tried and did not pay is not tried again soon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corollary.analysis.lowering import rule_of_case

HASH, YIELD, AUTO = "hash", "yield", "auto"

_WINDOW = 8_192  # changed facts after which there is something to say
_FEW_MATCHES = 0.2  # instances for each changed fact
_MANY_MATCHES = 0.5
_WORTH_IT = 1.5e-6  # seconds for a changed fact: below that there is nothing to win
_FACTS_PER_CHANGE = 16  # an index for more facts than so many times the changes seen would not be paid for yet


@dataclass
class Watch:
    """The cost of following the changes of one rule since the last decision."""

    window: int = _WINDOW
    rows: int = 0
    instances: int = 0
    seconds: float = 0.0
    seen: int = 0
    hash_cost: float = 0.0  # seconds for a changed fact, as long as the rule did without the index

    def note(self, rows: int, instances: int, seconds: float) -> None:
        self.rows += rows
        self.seen += rows
        self.instances += instances
        self.seconds += seconds

    @property
    def is_full(self) -> bool:
        return self.rows >= self.window

    @property
    def match_rate(self) -> float:
        return self.instances / max(1, self.rows)

    @property
    def cost(self) -> float:
        return self.seconds / max(1, self.rows)

    def begin(self) -> None:
        self.rows = self.instances = 0
        self.seconds = 0.0


class IndexChoice:
    """`wanted` is one word for all rules, or a word for some of them by name; the others are chosen for."""

    def __init__(self, wanted: str | Mapping[str, str]) -> None:
        self._default = wanted if isinstance(wanted, str) else AUTO
        self._by_rule = {} if isinstance(wanted, str) else dict(wanted)
        self._watches: dict[str, Watch] = {}
        self._chosen: set[str] = set()
        self.is_used = bool(self._by_rule) or self._default == YIELD
        """Whether a rule uses the index, or may be told to."""

    @property
    def may_index(self) -> bool:
        """Whether any rule may ever use the index."""
        return self._default != HASH or any(word != HASH for word in self._by_rule.values())

    def of(self, rule: str) -> str:
        return self._by_rule.get(rule_of_case(rule), self._default)

    def uses_index(self, rule: str) -> bool:
        word = self.of(rule)
        return word == YIELD or (word == AUTO and rule in self._chosen)

    def note(self, rule: str, rows: int, instances: int, seconds: float, facts: int) -> bool:
        """Takes notice of a change that was followed; True where the rule should go on in the other way."""
        watch = self._watches.setdefault(rule, Watch())
        watch.note(rows, instances, seconds)
        if self.of(rule) != AUTO or not watch.is_full:
            return False
        changes = self._leaves(watch) if rule in self._chosen else self._enters(watch, facts)
        if rule not in self._chosen:
            watch.hash_cost = watch.cost
        if changes:
            self._chosen ^= {rule}
            self.is_used = bool(self._chosen or self._by_rule) or self._default == YIELD
        watch.begin()
        return changes

    def _enters(self, watch: Watch, facts: int) -> bool:
        is_paid_for = facts <= _FACTS_PER_CHANGE * watch.seen
        return is_paid_for and watch.match_rate < _FEW_MATCHES and watch.cost > _WORTH_IT

    def _leaves(self, watch: Watch) -> bool:
        if watch.match_rate <= _MANY_MATCHES and watch.cost < watch.hash_cost:
            return False
        watch.window *= 8
        return True
