"""Answering queries before everything has been derived: on demand, or by deriving everything first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis
from corollary.analysis.lowering import lower_query, query_with_precision
from corollary.backends.backend import Backend
from corollary.program import Query
from corollary.program.arities import name_with_arity
from corollary.reasoning.demand import Demanded, demanded
from corollary.reasoning.demand.demanded import growing_rules, part_for
from corollary.reasoning.run import Run
from corollary.settings import Settings

if TYPE_CHECKING:
    from corollary.io.external import ExternalSource
    from corollary.results import Result

MOST_DEMANDS = 10
"""Queries in a row that the mode "auto" answers on demand before everything is derived."""

_KEPT = 100  # queries whose rules are kept


@dataclass
class _DerivedPart:
    """The rules that a query depends on, if others may never end, and their answers once derived."""

    analysis: Analysis
    rules: Demanded
    answers: Result | None = None


class Asking:
    """Counts the queries to a backend, and makes the rules for those that it answers on demand."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._asked = 0
        self.sources: dict[str, ExternalSource] = {}
        self._made: dict[tuple[Query, frozenset[str]], tuple[Analysis, Demanded]] = {}
        self._growing: tuple[Analysis, frozenset[str]] | None = None
        self._parts: dict[Query, _DerivedPart] = {}

    def rules(self, analysis: Analysis, query: Query) -> Demanded:
        """Return the rules that answer a query from explicit facts; those of the last queries are cached."""
        explicit = frozenset(self._backend.explicit_predicates if self._backend.is_started else ())
        known = self._made.get((query, explicit))
        if known is not None and known[0] is analysis:
            return known[1]
        taken = {*analysis.predicates, *self._backend.defined}
        outside = {name: len(source.columns) for name, source in self.sources.items()}
        asked = query_with_precision(query, analysis.meaning.precision)
        made = demanded(
            analysis.rules,
            asked,
            explicit,
            taken,
            self._settings.left_out,
            outside,
            computes=self._settings.discards_errors,
        )
        if len(self._made) >= _KEPT:
            del self._made[next(iter(self._made))]
        self._made[query, explicit] = (analysis, made)
        return made

    def on_demand(self, analysis: Analysis, query: Query, mode: str | None, *, asks: bool = True) -> Demanded | None:
        """Return the rules for a query that is answered on demand; None if it is answered from all derived facts.

        In the mode "auto", queries with a known argument are answered on demand. If deriving everything may never end,
        that holds for any number of queries; and a query that does not depend on rules that may never end does not wait
        for them in any mode. An error may be in rules that a query does not need, so if errors stop evaluation,
        everything is derived.
        """
        mode = Settings.of(mode=mode).mode if mode else self._settings.mode
        has_nothing = not analysis.program.rules and not self.sources
        if has_nothing or self._backend.is_materialised:
            return None
        return self._rewritten(analysis, query, mode, asks=asks) or self._part(analysis, query)

    def _part(self, analysis: Analysis, query: Query) -> Demanded | None:
        """Return the rules that a query depends on, if others may never end; None if everything may be derived."""
        if self._growing is None or self._growing[0] is not analysis:
            self._growing = analysis, growing_rules(analysis.lowered)
        growing = self._growing[1]
        if not growing or not self._settings.discards_errors:
            return None
        known = self._parts.get(query)
        if known is not None and known.analysis is analysis:
            return known.rules
        part = part_for(analysis.lowered, lower_query(query, analysis.meaning, analysis.lowered))
        if growing <= part.graph.rules.keys():
            return None
        if len(self._parts) >= _KEPT:
            self.forget_answers()
        self._parts[query] = _DerivedPart(analysis, part)
        return part

    def forget_answers(self) -> None:
        """Drop cached answers after a change of facts or rules."""
        self._parts.clear()

    def _rewritten(self, analysis: Analysis, query: Query, mode: str, *, asks: bool) -> Demanded | None:
        """Return the rules that derive what a query demands, or None if that is not wanted."""
        if mode == "materialise" or analysis.is_lowered:  # rules rewritten for their semantics are not rewritten again
            return None
        rules = self.rules(analysis, query)
        pays = bool(rules.demands) and (self._asked < MOST_DEMANDS or rules.limits_growth)
        pays &= self._settings.discards_errors
        pays |= any(source.needs for source in self.sources.values())  # they cannot be queried in any other way
        if mode == "auto" and not pays:
            return None
        self._asked += asks
        return rules

    def add_source(self, predicate: str, source: Any, **options: Any) -> None:
        """Read the facts of a predicate from a function or a database (see `opened_source`), from the next query on."""
        from corollary.io.external import opened_source

        opened = opened_source(predicate, source, **options)
        if self._settings.mixed_arities:
            predicate = name_with_arity(predicate, len(opened.columns))
        self._backend.arities.setdefault(predicate, len(opened.columns))
        self._backend.defined.add(predicate)
        self.sources = {**self.sources, predicate: opened}
        self._made.clear()
        self.forget_answers()

    def answers(self, demanded: Demanded, query: Query, prefixes: Mapping[str, str], run: Run) -> Result:
        """Return the answers to a query by the rules made for it; those of a part are cached until something changes."""
        part = self._parts.get(query)
        if part is None or part.rules is not demanded or self.sources:
            return self._derived(demanded, query, prefixes, run)
        if part.answers is None:
            part.answers = self._derived(demanded, query, prefixes, run)
        return part.answers

    def _derived(self, demanded: Demanded, query: Query, prefixes: Mapping[str, str], run: Run) -> Result:
        """Derive the answers to a query.

        Sources are asked for what the rules demand of them, until every demand has been asked: the answers of one
        source may be demands on another.
        """
        wanted = {demanded.answer: [variable.name for variable in query.variables]}
        for one in demanded.outside:
            wanted[one.demand] = [f"a{place + 1}" for place in one.known]
        given: dict[str, list[Any]] = {
            name: [self._everything(name, run)] for name in sorted(demanded.whole & self.sources.keys())
        }
        asked: dict[tuple[str, str], set[tuple[object, ...]]] = {}
        while True:
            facts = {name: _together(tables) for name, tables in given.items()}
            found = self._backend.derived_by(demanded.graph, wanted, facts, prefixes, run)
            is_finished = True
            for one in demanded.outside:
                table = found[one.demand].to_arrow()
                before = asked.setdefault((one.predicate, one.pattern), set())
                rows = list(zip(*(map(_equal_to_itself, column.to_pylist()) for column in table.columns), strict=True))
                new = [place for place, row in enumerate(rows) if row not in before]
                if new:
                    before.update(rows)
                    with run.interruptible():
                        answer = self.sources[one.predicate].ask(one.known, table.take(new))
                    given.setdefault(one.predicate, []).append(answer)
                    is_finished = False
            if is_finished:
                return found[demanded.answer]

    def load_sources(self, load: Callable[[str, Any], object], run: Run) -> None:
        """Return all rows of all sources, for deriving everything; raise if a source cannot be read as a whole."""
        for name in self.sources:
            load(name, self._everything(name, run))

    def _everything(self, name: str, run: Run) -> Any:
        with run.interruptible():
            return self.sources[name].everything()


def _equal_to_itself(value: Any) -> Any:
    """Return the value in a form that equals itself: otherwise NaN would be demanded without end."""
    return value if value == value else None


def _together(answers: list[Any]) -> Any:
    """Return the rows of several answers, tables or rows, as facts."""
    import pyarrow as pa

    if all(isinstance(answer, pa.Table) for answer in answers) and len({answer.schema for answer in answers}) == 1:
        return pa.concat_tables(answers)
    return [row for answer in answers for row in _rows(answer)]


def _rows(answer: Any) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    if isinstance(answer, pa.Table):
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))
    return list(answer)
