"""Changes of facts and rules, transactions and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from corollary.program import Program

if TYPE_CHECKING:
    from corollary.reasoning.maintain.report import StepReport
    from corollary.results import Result


@dataclass
class Change:
    """The facts and rules to insert and delete in one transaction. What is both deleted and inserted is there afterwards.

    `insert` and `delete` map predicates to rows, Arrow tables, pandas frames or mappings of columns; `add_rules` holds texts
    or programs, `remove_rules` names or texts of rules.

    >>> from corollary import Change, KnowledgeBase
    >>> kb = KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).")
    >>> result = kb.apply(Change(insert={"edge": [(2, 3)]}, delete={"edge": [(1, 2)]}))
    >>> list(result.inserted["path"]), list(result.deleted["path"])
    ([(2, 3)], [(1, 2)])
    """

    insert: Mapping[str, Any] = field(default_factory=dict)
    delete: Mapping[str, Any] = field(default_factory=dict)
    add_rules: tuple[str | Program, ...] = ()
    remove_rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.insert = {predicate: facts_given(facts) for predicate, facts in self.insert.items()}
        self.delete = {predicate: facts_given(facts) for predicate, facts in self.delete.items()}


def facts_given(facts: Any) -> Any:
    """Return facts from Python as rows or as a table; a mapping of columns is converted.

    Raise TypeError for other iterables, such as a string, or a tuple that is a single fact.

    >>> facts_given({"who": ["ann", "bo"], "age": [30, 41]})
    [('ann', 30), ('bo', 41)]
    >>> facts_given(("ann", 30))
    Traceback (most recent call last):
    TypeError: facts must be a collection of rows, but this tuple is a single row; one fact is [('ann', 30)]
    """
    if isinstance(facts, Mapping):
        return _of_columns(facts)
    if names := getattr(getattr(facts, "dtype", None), "names", None):  # numpy's records are a table, too
        return _of_columns({name: facts[name] for name in names})
    if _is_column(facts):
        return _of_columns({"a1": facts})
    if isinstance(facts, (str, bytes, bytearray)):
        kind = type(facts).__name__
        raise TypeError(f"facts must be a collection of rows, not a {kind}; one fact is [({_short(facts)},)]")
    if isinstance(facts, tuple) and not all(_is_row(row) for row in facts):
        raise TypeError(
            f"facts must be a collection of rows, but this tuple is a single row; one fact is [{_short(facts)}]"
        )
    return facts


def _is_column(facts: Any) -> bool:
    """Return whether this is a column, not a table, of Arrow, pandas or polars."""
    is_theirs = type(facts).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")
    return is_theirs and hasattr(facts, "__len__") and not hasattr(facts, "columns") and not hasattr(facts, "schema")


def _is_row(row: Any) -> bool:
    return isinstance(row, (tuple, list)) or getattr(row, "ndim", 0) == 1


def _of_columns(columns: Mapping[Any, Any]) -> Any:
    for name, column in columns.items():
        if isinstance(column, (str, bytes, bytearray, Mapping)) or not isinstance(column, Iterable):
            raise TypeError(
                f"a mapping of facts holds columns, but {name!r} has {_short(column)}; one fact is "
                f"{{{name!r}: [{_short(column)}], …}}"
            )
        if isinstance(column, Set) and len(columns) > 1:
            raise TypeError(
                f"a mapping of facts holds columns, but the set of {name!r} has no order; give rows: [(…, …), …]"
            )
    held = [
        column if isinstance(column, Sequence) or hasattr(column, "__len__") else list(column)
        for column in columns.values()
    ]
    if len(lengths := {len(column) for column in held}) > 1:
        raise ValueError(
            f"the columns of a mapping must have the same length, but these have {_counts(columns, held)} values"
        )
    if not lengths or not lengths.pop():
        return []
    if not all(isinstance(column, (list, tuple, range)) for column in held):
        import pyarrow as pa

        try:
            return pa.table({str(name): pa.array(column) for name, column in zip(columns, held, strict=True)})
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass  # a column of several types
    return list(zip(*held, strict=True))


def _counts(columns: Mapping[Any, Any], held: Sequence[Any]) -> str:
    return ", ".join(f"{name!r}: {len(column)}" for name, column in zip(columns, held, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


class Facts(Mapping[str, "Result"]):
    """A mapping from predicates to facts; other predicates have no facts. Facts are decoded when they are read."""

    def __init__(
        self,
        found: Mapping[str, Any],
        result: Callable[[str, Any], Result],
        full_name: Callable[[str], str],
        empty: Callable[[str], Result],
    ) -> None:
        """`found` are the facts in the form of an engine, of which `result` makes one that users know."""
        self._found = found
        self._result = result
        self._made: dict[str, Result] = {}
        self._full_name = full_name
        self._empty = empty

    def __getitem__(self, predicate: str) -> Result:
        name = self._full_name(predicate)
        return self._of(name) if name in self._found else self._empty(name)

    def _of(self, name: str) -> Result:
        if name not in self._made:
            self._made[name] = self._result(name, self._found[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found))

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {len(self._of(name)):,}" for name in self) + "}"


@dataclass(frozen=True)
class MaintenanceReport:
    """A report on each hyper-node that a transaction touched: its strategy, rounds, rule instances, and time."""

    steps: tuple[StepReport, ...]
    seconds: float
    explicit_inserted: int
    explicit_deleted: int

    def __str__(self) -> str:
        lines = [f"{self.seconds * 1000:,.1f} ms"]
        for step in self.steps:
            why = f" ({step.reason})" if step.reason else ""
            lines.append(
                f"{step.owner}  {step.strategy}{why}: +{step.inserted:,} -{step.deleted:,} facts, {step.rounds:,} rounds, "
                f"{step.instances:,} instances, {step.overdeleted:,} overdeleted, {step.rederived:,} rederived, "
                f"{step.seconds * 1000:,.1f} ms"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class TransactionResult:
    """The visible facts that a transaction inserted and deleted, by predicate, and a report on how they were found."""

    inserted: Facts
    deleted: Facts
    report: MaintenanceReport

    def __repr__(self) -> str:
        return f"<TransactionResult: inserted {self.inserted!r}, deleted {self.deleted!r}>"


class Transaction:
    """Collects changes in a `with` block and applies them together at its end, or not at all if the block raises an
    exception.

    >>> from corollary import KnowledgeBase
    >>> kb = KnowledgeBase("edge(1, 2). edge(2, 3). path(X, Y) :- edge(X, Y).")
    >>> with kb.transaction() as tx:
    ...     tx.delete("edge", [(1, 2)])
    ...     tx.add_rules("path(X, Z) :- path(X, Y), edge(Y, Z).")
    ...     tx.insert("edge", [(3, 4)])
    >>> sorted(tx.result.inserted["path"]), list(tx.result.deleted["path"])
    ([(2, 4), (3, 4)], [(1, 2)])
    """

    def __init__(self, apply: Callable[[list[Change]], TransactionResult]) -> None:
        self._apply = apply
        self._changes: list[Change] = []
        self._result: TransactionResult | None = None

    def insert(self, predicate: str, facts: Any) -> None:
        self._changes.append(Change(insert={predicate: facts}))

    def delete(self, predicate: str, facts: Any) -> None:
        """Delete explicit facts; facts that are not explicit are ignored."""
        self._changes.append(Change(delete={predicate: facts}))

    def add_rules(self, *programs: str | Program) -> None:
        self._changes.append(Change(add_rules=programs))

    def remove_rules(self, *rules: str) -> None:
        """Remove rules, by name or by text."""
        self._changes.append(Change(remove_rules=rules))

    @property
    def result(self) -> TransactionResult:
        if self._result is None:
            raise RuntimeError("the result of a transaction is available after its with block")
        return self._result

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = self._apply(self._changes)
