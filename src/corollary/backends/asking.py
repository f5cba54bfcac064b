"""How a query is answered while nothing was derived: on demand, or by deriving everything first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis
from corollary.analysis.lowering import query_with_precision
from corollary.backends.backend import Backend
from corollary.program import Query
from corollary.program.arities import name_with_arity
from corollary.reasoning.demand import Demanded, demanded
from corollary.settings import Settings

if TYPE_CHECKING:
    from corollary.results import Result
    from corollary.sources.external import ExternalSource

MOST_DEMANDS = 10
"""So many queries in a row are answered on demand in the mode "auto"; then everything is derived, and further ones are read."""

_KEPT = 100  # queries whose rules are kept


class Asking:
    """Counts what was asked of a backend, and makes the rules for queries that it answers on demand."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self._backend = backend
        self._settings = settings
        self._asked = 0
        self.sources: dict[str, ExternalSource] = {}
        self._made: dict[tuple[Query, frozenset[str]], tuple[Analysis, Demanded]] = {}

    def rules(self, analysis: Analysis, query: Query) -> Demanded:
        """The rules that answer a query from explicit facts; those of the last queries are kept."""
        stated = frozenset(self._backend.stated if self._backend.is_started else ())
        known = self._made.get((query, stated))
        if known is not None and known[0] is analysis:
            return known[1]
        taken = {*analysis.predicates, *self._backend.defined}
        outside = {name: len(source.columns) for name, source in self.sources.items()}
        asked = query_with_precision(query, analysis.meaning.precision)
        made = demanded(
            analysis.rules,
            asked,
            stated,
            taken,
            self._settings.without,
            outside,
            computes=self._settings.discards_errors,
        )
        if len(self._made) >= _KEPT:
            del self._made[next(iter(self._made))]
        self._made[query, stated] = (analysis, made)
        return made

    def on_demand(self, analysis: Analysis, query: Query, mode: str | None, *, asks: bool = True) -> Demanded | None:
        """The rules for a query that is answered on demand; None where it is read from what was, or will be, derived.

        In the mode "auto" that is a query with some argument known. Where deriving everything may never end, it is so however
        often one is asked. An error that stops everything may be in rules that a
        query does not need, so where errors stop, everything is derived.
        """
        mode = Settings.of(mode=mode).mode if mode else self._settings.mode
        has_nothing = not analysis.program.rules and not self.sources
        if mode == "materialise" or has_nothing or self._backend.is_materialised:
            return None
        if analysis.is_lowered:  # what was rewritten for its meaning is not rewritten once more
            return None
        rules = self.rules(analysis, query)
        pays = bool(rules.demands) and (self._asked < MOST_DEMANDS or rules.limits_growth)
        pays &= self._settings.discards_errors
        pays |= any(source.needs for source in self.sources.values())  # which can be asked in no other way
        if mode == "auto" and not pays:
            return None
        self._asked += asks
        return rules

    def add_source(self, predicate: str, source: Any, **options: Any) -> None:
        """Facts of a predicate come from a function or a database (see `opened_source`), from the next query on."""
        from corollary.sources.external import opened_source

        opened = opened_source(predicate, source, **options)
        if self._settings.mixed_arities:
            predicate = name_with_arity(predicate, len(opened.columns))
        self._backend.arities.setdefault(predicate, len(opened.columns))
        self._backend.defined.add(predicate)
        self.sources = {**self.sources, predicate: opened}
        self._made.clear()

    def answers(self, demanded: Demanded, query: Query, prefixes: Mapping[str, str]) -> Result:
        """The answers to a query by the rules that were made for it.

        Sources are asked for what the rules demand of them, until there is nothing that they were not asked for: the
        answers of one may be what another is asked about.
        """
        wanted = {demanded.answer: [variable.name for variable in query.variables]}
        for one in demanded.outside:
            wanted[one.demand] = [f"a{place + 1}" for place in one.known]
        given: dict[str, list[Any]] = {
            name: [self.sources[name].everything()] for name in sorted(demanded.whole & self.sources.keys())
        }
        asked: dict[tuple[str, str], set[tuple[object, ...]]] = {}
        while True:
            facts = {name: _together(tables) for name, tables in given.items()}
            found = self._backend.derived_by(demanded.graph, wanted, facts, prefixes)
            is_finished = True
            for one in demanded.outside:
                table = found[one.demand].to_arrow()
                before = asked.setdefault((one.predicate, one.pattern), set())
                rows = list(zip(*(map(_equal_to_itself, column.to_pylist()) for column in table.columns), strict=True))
                new = [place for place, row in enumerate(rows) if row not in before]
                if new:
                    before.update(rows)
                    answer = self.sources[one.predicate].ask(one.known, table.take(new))
                    given.setdefault(one.predicate, []).append(answer)
                    is_finished = False
            if is_finished:
                return found[demanded.answer]

    def load_sources(self, load: Callable[[str, Any], object]) -> None:
        """Gives all rows of all sources, where everything is derived; one that cannot be read whole is an error."""
        for name, source in self.sources.items():
            load(name, source.everything())


def _equal_to_itself(value: Any) -> Any:
    """What two equal constants share: NaN differs from itself, and would be asked for without end."""
    return value if value == value else None


def _together(answers: list[Any]) -> Any:
    """The rows of several answers as facts; an answer is a table or rows."""
    import pyarrow as pa

    if all(isinstance(answer, pa.Table) for answer in answers) and len({answer.schema for answer in answers}) == 1:
        return pa.concat_tables(answers)
    return [row for answer in answers for row in _rows(answer)]


def _rows(answer: Any) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    if isinstance(answer, pa.Table):
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))
    return list(answer)
