"""Delta rules on Spark: rules over versions of relations, those of several steps in one job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.analysis import HyperNode
from corollary.engines.base import Signed
from corollary.engines.spark.algebra.frames_of_algebra import BagTranslator, GuessedSizes, NodeEvaluation
from corollary.engines.spark.algebra.profiles import Profile
from corollary.engines.spark.algebra.values import failures_explained
from corollary.engines.spark.maintenance.change_rows import (
    TAG,
    ChangeRows,
    Ids,
    contained,
    distinct_ids,
    frame_of,
    hinted,
    settle,
    summed,
    summed_ids,
    tagged,
    taken_apart,
)
from corollary.engines.spark.maintenance.joined_rules import JoinedRule, only_joins
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.maintenance.versions import SparkVersions
from corollary.engines.spark.relations import COUNT, FrameStore, column_names
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.terms.ids import id_of
from corollary.engines.spark.terms.universe import settled
from corollary.planning import AggregateSource, NormalRule, Version
from corollary.planning.algebra import Algebra, AntiJoin, Join, Project, Scan, Select, algebra_of, inputs_of, walk
from corollary.planning.deltas import AFTER, BEFORE, DELETED, INSERTED, version_of, whole_rule
from corollary.program import Atom, Constant, Variable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

# -- bound rules -------------------------------------------------------------------------------------------------------

# Rules whose changed fact binds every variable: their other atoms only check whether one certain fact exists.
#
# The driver has the changed facts, so it looks up all of these facts at once, for all rules, and joins nothing.

NumberOf = Callable[[Constant], int]


def asks_only(rule: NormalRule) -> bool:
    """Return whether the first atom of a rule binds all of its variables, and nothing is negated, computed or compared."""
    body = rule.body
    if body.negated or body.computes or body.compares or len(body.sources) < 2:
        return False
    first, *others = body.sources
    if not isinstance(first, Atom):
        return False
    known = {argument.name for argument in first.arguments if isinstance(argument, Variable)}
    atoms = [rule.head, *others]
    return all(isinstance(atom, Atom) and _is_bound(atom, known) for atom in atoms)


def _is_bound(atom: Atom, known: set[str]) -> bool:
    return all(
        isinstance(argument, Constant) or (isinstance(argument, Variable) and argument.name in known)
        for argument in atom.arguments
    )


@dataclass
class _Question:
    facts: Ids
    place: int


@dataclass
class BoundRule:
    """One such rule over changed facts; `ask` registers its look-ups, `heads` reads the answers."""

    rule: NormalRule
    changed: Ids
    number_of: NumberOf
    _questions: list[_Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.rule.body.sources[0]
        assert isinstance(first, Atom)
        self._values: dict[str, Ids] = {}
        chosen = np.ones(len(self.changed), np.bool_)
        for place, argument in enumerate(first.arguments):
            column = self.changed[:, place]
            if isinstance(argument, Constant):
                chosen &= column == self.number_of(argument)
            elif isinstance(argument, Variable):
                chosen &= column == self._values.setdefault(argument.name, column)
        self._values = {name: column[chosen] for name, column in self._values.items()}
        self._count = int(chosen.sum())

    def ask(self, lookup: Lookup, relation_of: Callable[[Atom], SignedRelation]) -> None:
        for atom in self.rule.body.sources[1:]:
            assert isinstance(atom, Atom)
            facts = self._facts(atom)
            keys = ChangeRows.of_ids(lookup.context, atom.arity, distinct_ids(facts, 1))
            self._questions.append(_Question(facts, lookup.ask(relation_of(atom), keys)))

    def heads(self, answers: Sequence[Ids]) -> Ids:
        """Return the heads of the instances; they may repeat."""
        holds = np.ones(self._count, np.bool_)
        for question in self._questions:
            there = summed_ids(answers[question.place])
            holds &= contained(question.facts, there[there[:, -1] > 0][:, :-1])
        return self._facts(self.rule.head)[holds]

    def _facts(self, atom: Atom) -> Ids:
        columns = [
            np.full(self._count, self.number_of(argument), np.int64)
            if isinstance(argument, Constant)
            else self._values[argument.name]  # type: ignore[union-attr]
            for argument in atom.arguments
        ]
        return np.column_stack(columns or [np.zeros(self._count, np.int64)])


# -- local rules -------------------------------------------------------------------------------------------------------

# Rules that only select rows and columns of a few changed facts run in the driver, because every Spark job takes longer.


def reads_one_relation(node: Algebra) -> bool:
    """Return whether a rule only selects rows and columns of one relation."""
    if isinstance(node, (Project, Select)):
        return not (isinstance(node, Project) and node.distinct) and reads_one_relation(node.input)
    return isinstance(node, Scan)


def heads_of(node: Project, facts: Ids, number_of: NumberOf) -> Ids:
    """Return the heads of such a rule, which may repeat; the first columns of `facts` are those of the relation."""
    columns, count = _rows(node, facts, number_of)
    return np.column_stack([columns[name] for name in node.columns] or [np.zeros(count, np.int64)])


def _rows(node: Algebra, facts: Ids, number_of: NumberOf) -> tuple[dict[str, Ids], int]:
    match node:
        case Scan():
            return {name: facts[:, place] for place, name in enumerate(node.columns)}, len(facts)
        case Select():
            below, count = _rows(node.input, facts, number_of)
            chosen = np.ones(count, np.bool_)
            for name, other in node.equalities:
                chosen &= below[name] == (number_of(other) if isinstance(other, Constant) else below[other])
            return {name: column[chosen] for name, column in below.items()}, int(chosen.sum())
        case Project():
            below, count = _rows(node.input, facts, number_of)
            columns = {
                name: np.full(count, number_of(source)) if isinstance(source, Constant) else below[source]
                for name, source in node.outputs
            }
            return columns, count
        case _:
            raise AssertionError("the rule reads more than one relation")


# -- delta frames ------------------------------------------------------------------------------------------------------

# Rule bodies that start with a few changed facts, as data frames: small inputs are sent to large ones, never the other way.
#
# A join broadcasts the rows so far. If they come out of a join themselves and may be many, they are written to a table
# first, so that their number is known: too many of them are joined by a shuffle, as in any other query. Whether a row
# has a partner in a large relation is asked the other way round: which of the few keys does the relation have?

_SENT_UNSEEN = 200_000
"""Rows that are broadcast without being counted, by estimate."""


class DeltaTranslator(BagTranslator):
    """A translation of delta rules; `sizes` estimates the rows of a relation; with `careful`, every join result is
    written to a table."""

    _computes_texts = False

    def __init__(
        self, *args: Any, context: Context, sizes: Callable[[Scan], int], careful: bool, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._context = context
        self._sizes = sizes
        self._most = 0 if careful else _SENT_UNSEEN

    def _join(self, node: Join) -> DataFrame:
        if not node.on:
            return super()._join(node)
        if (guess := self._guess(node.left)) <= self._most:
            left, rows = self.rows(node.left), guess
        else:
            left, rows = self._left(node.left)
        # A semi-join asks for one completely known fact: it has at most one partner.
        return hinted(left, rows).join(self.rows(node.right), [self.column(name) for name in node.on])

    def _anti_join(self, node: AntiJoin) -> DataFrame:
        if not node.on:
            return super()._anti_join(node)
        left, rows = self._left(node.left)
        right, on = self.rows(node.right), [self.column(name) for name in node.on]
        return left.join(self._partners(left, rows, node.right, right, on), on, "left_anti")

    def _partners(self, left: DataFrame, rows: int, node: Algebra, right: DataFrame, on: list[str]) -> DataFrame:
        """Return the keys of the right side, restricted to those of the left side if it is smaller."""
        keys = right.select(*on)
        if self._size(node) <= rows:
            return hinted(keys, self._size(node))
        return hinted(keys.join(hinted(left.select(*on).distinct(), rows), on, "left_semi").distinct(), rows)

    def _ready_for_forms(self, df: DataFrame, node: Algebra) -> DataFrame:
        return self._put_down(df, node)[0]

    def _forms(self, df: DataFrame, column: str) -> DataFrame:
        """Return the forms of a column's constants; few rows need few of the large universe."""
        rows = self._context.settings.change_rows
        ids = hinted(df.selectExpr(f"{column} AS id").distinct(), rows)
        return hinted(super()._forms(df, column).join(ids, "id", "left_semi"), rows)

    def _left(self, node: Algebra) -> tuple[DataFrame, int]:
        """Return the rows so far, and an estimate of their number."""
        return self._put_down(self.rows(node), node)

    def _put_down(self, df: DataFrame, node: Algebra) -> tuple[DataFrame, int]:
        if not any(isinstance(one, (Join, AntiJoin)) for one in walk(node)):
            return df, self._size(node)
        ids, stored, rows = settle(self._context, df, "join")
        if ids is not None:
            return frame_of(self._context, df.columns, ids), rows
        assert stored is not None
        return stored, rows

    def _guess(self, node: Algebra) -> int:
        """Return an estimate of the rows that come out of a node, for values of usual frequency."""
        if isinstance(node, Join) and not node.semi:
            return int(self._guess(node.left) * max(1.0, self._size(node.right) ** 0.25))
        below = inputs_of(node)
        return self._guess(below[0]) if below and not isinstance(node, Scan) else self._size(node)

    def _size(self, node: Algebra) -> int:
        scans = [one for one in walk(node) if isinstance(one, Scan)]
        return max((self._sizes(scan) for scan in scans), default=1)


def is_too_large(error: BaseException) -> bool:
    """Return whether Spark refused to broadcast so many rows."""
    text = str(error)
    return "maxResultSize" in text or "Cannot broadcast" in text or "_LEGACY_ERROR_TEMP_2249" in text


# -- delta rules -------------------------------------------------------------------------------------------------------

_AT_ONCE = 12  # rules in one job; Spark takes longer to plan more than to run them


class DeltaRules(NodeEvaluation):
    """The evaluation of delta rules; `exists` are the rules of auxiliary predicates: the values for which a negated
    atom has facts."""

    def __init__(
        self,
        transaction: SparkTransaction,
        versions: SparkVersions,
        exists: Mapping[str, NormalRule],
        *,
        discards_errors: bool,
    ) -> None:
        job = NodeJob(HyperNode(()), (), (), recursive=False, discards_errors=discards_errors, counts=True)
        super().__init__(job, FrameStore(transaction.context.spark), transaction.context, {})
        self._transaction = transaction
        self._versions = versions
        self._exists = exists
        self._exists_changes: dict[str, ChangeRows] = {}
        self._careful = False
        self._sized: dict[str, int] = {}

    def derive(self, wanted: Sequence[Signed]) -> dict[tuple[str, str], ChangeRows]:
        """Return how often each head is derived, by key; keys without a head are missing."""
        with failures_explained([one.rule for one in wanted]):
            try:
                return settled(lambda: self._derive(wanted))
            except Exception as error:
                if not is_too_large(error):
                    raise
                self._careful = True
                return settled(lambda: self._derive(wanted))

    def has_facts(self, rule: NormalRule) -> bool:
        """Return whether each atom of a rule may have facts."""
        return all(self._size_of(atom) for atom in rule.body.sources if isinstance(atom, Atom))

    # -- rules -------------------------------------------------------------------------------------------------------

    def _derive(self, wanted: Sequence[Signed]) -> dict[tuple[str, str], ChangeRows]:
        translator = self._delta_translator()
        found: dict[tuple[str, str], list[ChangeRows]] = {}
        frames: list[tuple[Signed, DataFrame]] = []
        bound: list[tuple[Signed, BoundRule]] = []
        for one in wanted:
            if not self.has_facts(one.rule):
                continue
            changed = self._changed_in_driver(one.rule)
            if changed is not None and asks_only(one.rule):
                bound.append((one, BoundRule(one.rule, changed, self._number_of)))
                continue
            joined = self._joined_in_driver(one.rule, changed)
            if joined is not None:
                found.setdefault(one.key, []).append(self._counted(joined, one))
                continue
            tree = self._tree(one.rule)
            local = self._in_driver(tree)
            if local is not None:
                found.setdefault(one.key, []).append(self._counted(local, one))
            else:
                df = translator.head(one.rule.name, tree)
                frames.append((one, df.selectExpr("*", f"{one.sign}L AS {COUNT}")))
        for one, heads in self._answered(bound):
            found.setdefault(one.key, []).append(self._counted(heads, one))
        for start in range(0, len(frames), _AT_ONCE):
            for key, rows in self._run_together(frames[start : start + _AT_ONCE]).items():
                found.setdefault(key, []).append(rows)
        self._teach(translator.minting)
        self._forget_temporary()
        sums = {key: summed(parts) for key, parts in found.items()}
        return {key: rows for key, rows in sums.items() if rows.rows}

    def _changed_in_driver(self, rule: NormalRule) -> Ids | None:
        """Return the changed facts of a rule's first atom if the driver has them, otherwise None."""
        first = rule.body.sources[0] if rule.body.sources else None
        change = self._change(first.predicate, first.arity) if isinstance(first, Atom) else None
        return change.ids if change is not None else None

    def _joined_in_driver(self, rule: NormalRule, changed: Ids | None) -> Ids | None:
        """Return the heads of a rule whose changed facts meet relations cached in the driver; None if that is not possible."""
        if changed is None or not only_joins(rule):
            return None
        others = [atom.predicate for atom in rule.body.sources[1:] if isinstance(atom, Atom)]
        if any(version_of(name)[1] in self._exists for name in others):
            return None
        return JoinedRule(rule, self._number_of, self._context.held).heads(changed, self._relation_of)

    def _answered(self, bound: Sequence[tuple[Signed, BoundRule]]) -> Iterator[tuple[Signed, Ids]]:
        """Yield the heads of rules that only look up certain facts, all in one job."""
        lookup = Lookup(self._context)
        for _, rule in bound:
            rule.ask(lookup, self._relation_of)
        answers = lookup.run()
        for one, rule in bound:
            yield one, rule.heads(answers)

    def _relation_of(self, atom: Atom) -> SignedRelation:
        change = self._change(atom.predicate, atom.arity)
        if change is not None:
            return SignedRelation(self._context, atom.arity, segments=(change,))
        return self._versions.relation(atom.predicate, atom.arity)

    def _tree(self, rule: NormalRule) -> Project:
        versions = tuple(
            Version.DELTA if place == 0 and self._is_change(source) else Version.FULL
            for place, source in enumerate(rule.body.sources)
        )
        return self._algebra(rule, versions)

    def _is_change(self, source: object) -> bool:
        return isinstance(source, Atom) and self._change(source.predicate, source.arity) is not None

    def _in_driver(self, tree: Project) -> Ids | None:
        """Return the heads of a rule that only selects among changed facts in the driver; None for other rules."""
        if not reads_one_relation(tree):
            return None
        node: object = tree
        while not isinstance(node, Scan):
            node = node.input  # type: ignore[attr-defined]
        change = self._change(node.predicate, node.arity)
        if change is None or change.ids is None:
            return None
        return heads_of(tree, change.ids, self._number_of)

    def _number_of(self, constant: Constant) -> int:
        return id_of(constant.value, self.collisions)

    def _counted(self, heads: Ids, one: Signed) -> ChangeRows:
        ids = summed_ids(np.column_stack((heads, np.full(len(heads), one.sign, np.int64))))
        return ChangeRows.of_ids(self._context, one.rule.head.arity, ids)

    def _run_together(self, frames: Sequence[tuple[Signed, DataFrame]]) -> dict[tuple[str, str], ChangeRows]:
        keys = {key: number for number, key in enumerate(dict.fromkeys(one.key for one, _ in frames))}
        arities = {keys[one.key]: one.rule.head.arity for one, _ in frames}
        by_key: dict[int, list[DataFrame]] = {}
        for one, df in frames:
            by_key.setdefault(keys[one.key], []).append(df.select(*column_names(one.rule.head.arity), COUNT))
        together = {
            number: (reduce(lambda left, right: left.union(right), parts), arities[number])
            for number, parts in by_key.items()
        }
        df = tagged(together, (COUNT,))
        columns = [name for name in df.columns if name != COUNT]
        df = df.groupBy(*columns).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT).where(f"{COUNT} <> 0")
        assert df.columns[0] == TAG
        found = taken_apart(self._context, settle(self._context, df, "heads"), arities)
        names = {number: key for key, number in keys.items()}
        return {names[number]: rows for number, rows in found.items()}

    # -- relations ---------------------------------------------------------------------------------------------------

    def _delta_translator(self) -> DeltaTranslator:
        return DeltaTranslator(
            self._context.spark, self._rows, self._classes, self, self._context.partitions,
            discards_errors=self._job.discards_errors, context=self._context, sizes=self._scan_size,
            careful=self._careful,
        )  # fmt: skip

    def _rows(self, scan: Scan) -> DataFrame:
        change = self._change(scan.predicate, scan.arity)
        if change is not None:
            return change.df.select(*change.columns)
        version, predicate = version_of(scan.predicate)
        if predicate in self._exists:
            return self._having(version, predicate)
        return self._versions.relation(scan.predicate, scan.arity).visible().df

    def _change(self, versioned: str, arity: int) -> ChangeRows | None:
        version, predicate = version_of(versioned)
        if predicate in self._exists and version in (DELETED, INSERTED):
            if versioned not in self._exists_changes:
                self._exists_changes[versioned] = self._exists_change(version, predicate)
            return self._exists_changes[versioned]
        return self._versions.rows(versioned, arity)

    def _having(self, version: str, auxiliary: str) -> DataFrame:
        """Return the values for which there is a fact; they may repeat."""
        rule = whole_rule(self._exists[auxiliary], version)
        return self._delta_translator().head(rule.name, algebra_of(rule))

    def _exists_change(self, version: str, auxiliary: str) -> ChangeRows:
        """Return the values that gained their first fact or lost their last one, by looking up those of changed facts."""
        arity = self._exists[auxiliary].head.arity
        (atom,) = self._exists[auxiliary].body.sources
        assert isinstance(atom, Atom)
        change = self._versions.rows(version + atom.predicate, atom.arity)
        assert change is not None
        if not change.rows:
            return ChangeRows.nothing(self._context, arity)
        columns = column_names(arity)
        keys = self._having(version, auxiliary).distinct()
        other = self._having(AFTER if version == DELETED else BEFORE, auxiliary)
        others = other.join(hinted(keys, change.rows), columns, "left_semi").distinct()
        found = keys.join(hinted(others, change.rows), columns, "left_anti").selectExpr("*", f"1L AS {COUNT}")
        ids, stored, rows = settle(self._context, found, "values")
        return ChangeRows(self._context, arity, rows, ids, stored)

    # -- statistics --------------------------------------------------------------------------------------------------

    def _size_of(self, atom: Atom) -> int:
        return self._scan_size(Scan(atom.predicate, atom.arity))

    def _scan_size(self, scan: Scan) -> int:
        change = self._change(scan.predicate, scan.arity)
        if change is not None:
            return change.rows
        version, predicate = version_of(scan.predicate)
        if predicate in self._exists:
            (atom,) = self._exists[predicate].body.sources
            assert isinstance(atom, Atom)
            return self._scan_size(Scan(version + atom.predicate, atom.arity))
        relation = self._versions.relation(scan.predicate, scan.arity)
        return relation.size if relation.rows is None else relation.rows

    def _size(self, predicate: str) -> int:
        return self._sized.get(predicate, 1000)

    def _algebra(self, rule: NormalRule, versions: tuple[Version, ...] | None = None) -> Project:
        """Return the algebra of a rule, ordered by sizes alone: the first atom has few rows, and profiles of the others
        cost a full pass."""
        self._sized = {atom.predicate: self._size_of(atom) for atom in _atoms(rule)}
        values_last = not self._job.discards_errors
        return algebra_of(rule, GuessedSizes(self._size), versions, keep_all=True, values_last=values_last)

    def _classes(self, scan: Scan) -> tuple[int, ...]:
        return self._profile(scan.predicate, scan.arity).classes

    def _profile(self, predicate: str, arity: int) -> Profile:
        change = self._change(predicate, arity)
        if change is not None:
            return change.profile
        return self._versions.relation(predicate, arity).profile()


def _atoms(rule: NormalRule) -> list[Atom]:
    found: list[Atom] = []
    bodies = [rule.body]
    while bodies:
        for source in bodies.pop().sources:
            if isinstance(source, AggregateSource):
                bodies.append(source.body)
            else:
                found.append(source)
    return found
