"""The preparation and checks of the updates of a stream, and their application with look-ahead at the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from corollary.analysis.predicates import predicates_of
from corollary.backends import Backend
from corollary.backends.embedded import EmbeddedBackend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import encode_constants
from corollary.io.loading import Encoded
from corollary.language import Permissions, parse
from corollary.program import Program
from corollary.program.arities import full_names
from corollary.reasoning.run import Run
from corollary.settings import STREAM_STRATEGIES
from corollary.streams.results import UpdateStatistics
from corollary.streams.updates import Arrived
from corollary.transactions import Change, TransactionResult

if TYPE_CHECKING:
    from corollary.engines.embedded.engine import EmbeddedEngine
    from corollary.engines.embedded.marking.region import Upcoming
    from corollary.engines.embedded.marking.strategy import MarkingStrategy
    from corollary.results import Result

_MANY_PAIRS = 500  # a closure with fewer is followed faster fact by fact, together with the rules around it
_FEW = 100  # facts; an update with fewer makes no large closure out of a small one

# -- known codes -------------------------------------------------------------------------------------------------------

# The codes of known constants, since the facts of a small update usually consist of these.
#
# Encoding whole columns pays from some hundred facts on. An update with a few is looked up value by value.

_SMALL = 100  # facts
_MOST = 200_000  # constants
_PLAIN = frozenset((int, str))  # types whose values equal no value of another type in a dictionary
_ROWS = frozenset((list, tuple))  # texts are iterable, too, but are not rows


class KnownCodes:
    def __init__(self, backend: EmbeddedBackend) -> None:
        self._backend = backend
        self._codes: dict[Any, int] = {}

    def of(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Encoded]:
        """Return the codes of facts by predicate."""
        found: dict[str, Encoded] = {}
        others: list[tuple[str, Any]] = []
        for predicate, rows in facts:
            codes = self._of_few(predicate, rows) if predicate not in found else None
            if codes is None:
                others.append((predicate, rows))
            else:
                found[predicate] = Encoded(codes)
        if others:
            for predicate, encoded in self._backend.codes_of(others).items():
                before = found.get(predicate)
                both = encoded if before is None else Encoded(np.concatenate((before.codes, encoded.codes)))
                found[predicate] = both
        return found

    def _of_few(self, predicate: str, rows: Any) -> Codes | None:
        """Return the codes of a few rows of plain values; None for other facts."""
        if not isinstance(rows, (list, tuple)) or len(rows) > _SMALL:
            return None
        arity = self._backend.arities.get(predicate)
        if not {row.__class__ for row in rows} <= _ROWS or {len(row) for row in rows} != {arity}:
            return None
        values = [value for row in rows for value in row]
        if not {value.__class__ for value in values} <= _PLAIN:
            return None
        try:
            flat = [self._codes[value] for value in values]
        except KeyError:
            if not self._learn(values):
                return None
            flat = [self._codes[value] for value in values]
        return np.array(flat, np.uint32).reshape(len(rows), -1)

    def _learn(self, values: list[Any]) -> bool:
        """Encode all new values together; return False if one cannot be encoded."""
        if len(self._codes) > _MOST:
            self._codes.clear()
        new = [value for value in dict.fromkeys(values) if value not in self._codes]
        try:
            codes = encode_constants(self._backend.engine.universe, new)
        except ValueError:
            return False
        self._codes.update(zip(new, codes.tolist(), strict=True))
        return True


# -- target ------------------------------------------------------------------------------------------------------------


class Streamed(Protocol):
    """The part of a knowledge base that a stream uses."""

    @property
    def program(self) -> Program: ...

    def full_name(self, predicate: str) -> str: ...

    def data_name(self, predicate: str) -> str: ...

    def predicates(self) -> list[str]: ...

    def materialise(self) -> Any: ...


@dataclass
class Prepared:
    """The facts of an update as codes, by full names of predicates."""

    insert: dict[str, Encoded]
    delete: dict[str, Encoded]


class Target:
    """A knowledge base to which a stream applies updates by one strategy, from the first update to `close`."""

    def __init__(
        self,
        kb: Streamed,
        backend: Backend,
        operation: Callable[[], AbstractContextManager[Run]],
        apply: Callable[[Change, MarkingStrategy | None], TransactionResult],
        *,
        strategy: str | MarkingStrategy,
        largest: int,
        is_stored: bool,
    ) -> None:
        if isinstance(strategy, str) and strategy not in STREAM_STRATEGIES:
            raise ValueError(f"there is no strategy '{strategy}'; there are {', '.join(map(repr, STREAM_STRATEGIES))}")
        if not isinstance(backend, EmbeddedBackend):
            raise _not_streamed("streams need the embedded engine", 'KnowledgeBase(…, engine="embedded")')
        if not backend.settings.updates:
            raise _not_streamed("this knowledge base was made with updates=False", "updates=True is the default")
        self.kb = kb
        self._backend = backend
        self._apply = apply
        self.operation = operation
        """Begins an exclusive operation on the knowledge base."""
        self._codes = KnownCodes(backend)
        self._largest = largest
        self._adapts = strategy == "auto"
        self._known_facts = _MANY_PAIRS
        with operation() as run:
            kb.materialise()
            self.strategy = _strategy_named(strategy, backend.engine) if isinstance(strategy, str) else strategy
            # In a directory, a switch of strategy is a version, which waits for the first change.
            if self.strategy is not None and not is_stored:
                backend.engine.begin_stream(self.strategy, run)

    def close(self) -> None:
        if self.strategy is not None:
            self._backend.engine.end_stream(self.strategy)

    def no_facts(self, predicate: str) -> Result:
        return self._backend.no_facts(predicate, {})

    # -- one update --------------------------------------------------------------------------------------------------

    def upcoming(self, next_one: Arrived) -> Upcoming | None:
        """Return the facts that the next update deletes and inserts, as far as they are known; its errors are reported when
        its turn comes."""
        from corollary.engines.embedded.marking.region import Upcoming

        if next_one.change is None or next_one.changes_rules:
            return None
        try:
            prepared = self._prepared(next_one)
        except ProgramError:
            return None
        return Upcoming(
            {name: facts.codes for name, facts in prepared.delete.items()},
            {name: facts.codes for name, facts in prepared.insert.items()},
        )

    def apply(self, update: Arrived, look: Callable[[], Upcoming | None]) -> tuple[TransactionResult, UpdateStatistics]:
        """Apply an update; raise `ProgramError` and change nothing if it is invalid."""
        if update.problem is not None:
            raise ProgramError([update.problem])
        assert update.change is not None
        change = update.change
        with self.operation():
            self._check_predicates(change, update.place)
            prepared = self._prepared(update)
            self._check_deleted(prepared, update)
            self._adapt(prepared)
            if self.strategy is not None:
                self.strategy.look = look
            encoded = Change(prepared.insert, prepared.delete, change.add_rules, change.remove_rules)
            result = self._apply(encoded, self.strategy)  # another stream may have changed the strategy in between
            return result, self._statistics(result)

    def _adapt(self, update: Prepared) -> None:
        """Choose closures to keep once more after the facts that are followed one by one have doubled, or are about to."""
        if not self._adapts or self.strategy is None:
            return
        known, coming = self.strategy.facts, sum(len(facts.codes) for facts in update.insert.values())
        if coming > max(_FEW, known):
            self._keep_closures(0)
            self._known_facts = -1  # the next update looks at what has become of them
        elif known > self._known_facts:
            self._keep_closures(_MANY_PAIRS)
            self._known_facts = 2 * known

    def _keep_closures(self, least: int) -> None:
        """Keep the closures of at least so many pairs."""
        assert self.strategy is not None
        closed = _closures(self._backend.engine, least)
        if closed != self.strategy.closed:
            self.strategy = _adapting(closed)

    def _statistics(self, result: TransactionResult) -> UpdateStatistics:
        instances = sum(step.instances for step in result.report.steps)
        found = UpdateStatistics(seconds=result.report.seconds, instances=instances)
        if self.strategy is not None and self._backend.engine.following is self.strategy:
            found.add(self.strategy.statistics)
        return found

    def _prepared(self, update: Arrived) -> Prepared:
        if update.prepared is None:
            assert update.change is not None
            self._check_size(update)
            name = self.kb.data_name
            insert = [(name(predicate), facts) for predicate, facts in update.change.insert.items()]
            delete = [(name(predicate), facts) for predicate, facts in update.change.delete.items()]
            update.prepared = Prepared(self._codes.of(insert), self._codes.of(delete))
        prepared: Prepared = update.prepared
        return prepared

    # -- checks ------------------------------------------------------------------------------------------------------

    def _check_size(self, update: Arrived) -> None:
        assert update.change is not None
        facts = (*update.change.insert.values(), *update.change.delete.values())
        count = sum(len(rows) for rows in facts if hasattr(rows, "__len__"))
        if count > self._largest:
            message = f"{update.place}: an update of {count:,} facts; the limit is {self._largest:,}"
            hint = "kb.stream(…, largest=N) and corollary stream --largest N allow more"
            raise ProgramError([Diagnostic(catalogue.UPDATE_TOO_LARGE, message, None, hint)])

    def _check_predicates(self, change: Change, place: str) -> None:
        known = self._backend.arities
        for predicate in (*change.insert, *change.delete):
            name = self.kb.data_name(predicate)
            if name in known or self._is_name_of_several(name):
                continue
            names = [*self.kb.predicates(), *self._new_predicates(change)]
            if name not in names:
                message = f"{place}: nothing mentions the predicate '{predicate}'"
                raise ProgramError([Diagnostic(catalogue.UNKNOWN_IN_UPDATE, message, None, did_you_mean(name, names))])

    def _is_name_of_several(self, name: str) -> bool:
        """Return whether this is the name of several predicates with different numbers of arguments; the facts choose one."""
        return self._backend.settings.mixed_arities and bool(full_names(name, self._backend.arities))

    def _new_predicates(self, change: Change) -> Iterator[str]:
        """Return the predicates of the rules in the update; errors in them are reported when the update is applied."""
        prefixes, permissions = self.kb.program.prefixes, Permissions.of(self._backend.settings.allow)
        for rules in change.add_rules:
            if isinstance(rules, str):
                rules = parse(rules, prefixes=prefixes, permissions=permissions).program
            yield from predicates_of(rules)

    def _check_deleted(self, prepared: Prepared, update: Arrived) -> None:
        for predicate, facts in prepared.delete.items():
            missing = self._backend.first_missing(predicate, facts)
            if missing is not None:
                text = f"{predicate}({', '.join(map(str, missing))})"
                message = f"{update.place}: {text} cannot be deleted: it is not an explicit fact"
                raise ProgramError([Diagnostic(catalogue.ABSENT_FACT, message)])


def _strategy_named(name: str, engine: EmbeddedEngine) -> MarkingStrategy | None:
    """Return a strategy that works fact by fact; None if the knowledge base uses its own strategy."""
    from corollary.engines.embedded.marking.region import METHODS
    from corollary.engines.embedded.marking.strategy import MarkingStrategy

    if name == "sets":
        return None
    if name == "auto":
        return _adapting(_closures(engine, _MANY_PAIRS))
    return MarkingStrategy(METHODS[name])


def _adapting(closed: frozenset[str] | None) -> MarkingStrategy:
    """Return the strategy of streams that keeps these closures; None if the knowledge base keeps none."""
    from corollary.engines.embedded.marking.region import METHODS
    from corollary.engines.embedded.marking.strategy import MarkingStrategy

    return MarkingStrategy(METHODS["bf-marking"], adapts=True, closed=closed)


def _closures(engine: EmbeddedEngine, least: int) -> frozenset[str] | None:
    if not engine.keeps_closures:
        return None
    return frozenset(name for name in engine.closed_predicates if engine.count(name) >= least)


def _not_streamed(message: str, hint: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.NOT_STREAMED, message, None, hint)])
