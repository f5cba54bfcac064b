"""The index structures that paper 003 compares with, counting what they look at.

An activation takes the facts of the rule's first atom one after the other, and then goes from atom to atom. FAI has an index
on the first attribute of each relation, AAI one on each attribute, AMEM keeps the facts that pass the constants of an atom, FI
has in addition an index on what a rule joins by. A probe is one index access, each fact that it gives is one tuple access;
without an index, every fact of the relation is. YI is the index of the engine itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.yield_index.data import Case, Rows
from benchmarks.yield_index.inspection import entry_count
from corollary.engines.embedded.yield_index.index import Accesses, YieldIndex
from corollary.language import parse_program
from corollary.planning import NormalRule, normalise
from corollary.program import Atom, Constant, Variable

STRUCTURES = ("No index", "FAI", "AAI", "AMEM", "FI")


@dataclass
class Counts:
    index: int = 0
    tuples: int = 0
    results: int = 0


@dataclass(frozen=True)
class Structure:
    """Which of the bound columns of an atom a probe can use, and whether constants were sorted out before."""

    name: str
    probes: Callable[[Sequence[int]], tuple[int, ...]]
    keeps_constants: bool
    updates: Callable[[int, int], int]  # index accesses for a new fact: columns, those that join


KNOWN = {
    "No index": Structure("No index", lambda bound: (), False, lambda columns, joining: 0),
    "FAI": Structure("FAI", lambda bound: tuple(c for c in bound if c == 0), False, lambda columns, joining: 1),
    "AAI": Structure("AAI", tuple, False, lambda columns, joining: columns),
    "AMEM": Structure("AMEM", lambda bound: (), True, lambda columns, joining: 1),
    "FI": Structure("FI", tuple, True, lambda columns, joining: joining),
}


def rule_of(case: Case) -> NormalRule:
    return normalise(parse_program(case.rule).rules[0])


def activate(case: Case, structure: Structure, drivers: Rows | None = None) -> Counts:
    """Counts an activation by set operations: every partial instance is probed, whatever becomes of it.

    `drivers` are facts that have just come; without, all facts of the first atom are looked at.
    """
    atoms = [atom for atom in rule_of(case).body.sources if isinstance(atom, Atom)]
    counts = Counts()
    first = atoms[0]
    rows = case.relations[first.predicate] if drivers is None else drivers
    fitting = rows[_fits(first, rows)]
    if drivers is None:
        has_constant = any(isinstance(term, Constant) for term in first.arguments)
        finds = structure.keeps_constants or bool(structure.probes(_constant_columns(first)))
        counts.index += int(has_constant and finds)
        counts.tuples += len(fitting) if has_constant and finds else len(rows)
    partial = {term.name: fitting[:, at] for at, term in enumerate(first.arguments) if isinstance(term, Variable)}
    size = len(fitting)
    for atom in atoms[1:]:
        partial, size = _probe(atom, case.relations[atom.predicate], structure, partial, size, counts)
    counts.results = size
    return counts


def _constant_columns(atom: Atom) -> list[int]:
    return [at for at, term in enumerate(atom.arguments) if isinstance(term, Constant)]


def _fits(atom: Atom, rows: Rows) -> np.ndarray:
    found = np.ones(len(rows), np.bool_)
    for column in _constant_columns(atom):
        term = atom.arguments[column]
        assert isinstance(term, Constant)
        found &= rows[:, column] == term.value
    return found


def _probe(
    atom: Atom, relation: Rows, structure: Structure, partial: dict[str, np.ndarray], size: int, counts: Counts
) -> tuple[dict[str, np.ndarray], int]:
    """Goes on from so many partial instances to an atom; gives those that are left."""
    constants = _constant_columns(atom)
    bound = [at for at, term in enumerate(atom.arguments) if isinstance(term, Variable) and term.name in partial]
    memory = relation[_fits(atom, relation)]
    used = structure.probes(sorted([*bound, *constants]))
    candidates = memory if structure.keeps_constants else relation
    fixed = [column for column in constants if column in used]
    for column in fixed:
        term = atom.arguments[column]
        assert isinstance(term, Constant)
        candidates = candidates[candidates[:, column] == term.value]
    is_probed = bool(used) or (structure.keeps_constants and bool(constants))
    counts.index += size if is_probed else 0
    joined = [column for column in used if column in bound]
    counts.tuples += _pairs(atom, candidates, joined, partial, size)
    left, right = _matches(atom, memory, bound, partial, size)
    found = {name: values[left] for name, values in partial.items()}
    for at, term in enumerate(atom.arguments):
        if isinstance(term, Variable) and term.name not in found:
            found[term.name] = memory[right, at]
    return found, len(left)


def _keys(atom: Atom, columns: Sequence[int], partial: dict[str, np.ndarray], size: int) -> np.ndarray:
    keys = np.zeros(size, np.int64)
    for column in columns:
        term = atom.arguments[column]
        assert isinstance(term, Variable)
        keys = (keys << 20) | partial[term.name].astype(np.int64)
    return keys


def _row_keys(rows: Rows, columns: Sequence[int]) -> np.ndarray:
    keys = np.zeros(len(rows), np.int64)
    for column in columns:
        keys = (keys << 20) | rows[:, column].astype(np.int64)
    return keys


def _pairs(atom: Atom, candidates: Rows, columns: Sequence[int], partial: dict[str, np.ndarray], size: int) -> int:
    """How many facts all probes together give."""
    ordered = np.sort(_row_keys(candidates, columns))
    wanted = _keys(atom, columns, partial, size)
    return int((np.searchsorted(ordered, wanted, "right") - np.searchsorted(ordered, wanted, "left")).sum())


def _matches(
    atom: Atom, rows: Rows, columns: Sequence[int], partial: dict[str, np.ndarray], size: int
) -> tuple[np.ndarray, np.ndarray]:
    keys = _row_keys(rows, columns)
    order = np.argsort(keys, kind="stable")
    ordered, wanted = keys[order], _keys(atom, columns, partial, size)
    start, stop = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
    lengths = stop - start
    left = np.repeat(np.arange(size), lengths)
    within = np.arange(len(left)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return left, order[np.repeat(start, lengths) + within]


def construction(case: Case, structure: Structure) -> tuple[int, int]:
    """Index accesses while an index is built, and the entries that it has then: one for each fact in each index."""
    atoms = [atom for atom in rule_of(case).body.sources if isinstance(atom, Atom)]
    names = [term.name for atom in atoms for term in atom.arguments if isinstance(term, Variable)]
    found = 0
    for predicate, rows in case.relations.items():
        places = [atom for atom in atoms if atom.predicate == predicate]
        joining = max(
            sum(isinstance(t, Variable) and names.count(t.name) > 1 for t in atom.arguments) for atom in places
        )
        if structure.keeps_constants:  # what no atom wants is left out
            wanted = np.logical_or.reduce([_fits(atom, rows) for atom in places])
            has_constants = any(_constant_columns(atom) for atom in places)
            per_fact = joining if structure.name == "FI" else int(has_constants)
            found += int(wanted.sum()) * per_fact
        else:
            found += len(rows) * structure.updates(rows.shape[1], joining)
    return found, found


# -- the Yield index ---------------------------------------------------------------------------------------------------


def new_index(case: Case, *, without_half: bool = False) -> tuple[YieldIndex, Rows]:
    """The index over the facts, perhaps without half of the first relation; and that half."""
    sizes = {name: len(rows) for name, rows in case.relations.items()}
    index = YieldIndex([rule_of(case)], lambda constant: int(constant.value), sizes=sizes)
    kept = len(case.relations[case.first]) // 2 if without_half else len(case.relations[case.first])
    for name, rows in case.relations.items():
        index.load(name, rows[:kept] if name == case.first else rows)
    return index, case.relations[case.first][kept:]


def yield_on_base(case: Case) -> tuple[Counts, Accesses]:
    index, _ = new_index(case)
    before = index.accesses
    results = index.activate(index.rules[0].name, 0)
    done = index.accesses - before
    return Counts(done.index, done.tuples, len(results)), done


def yield_on_inserted(case: Case) -> tuple[Counts, Accesses]:
    index, inserted = new_index(case, without_half=True)
    before = index.accesses
    index.insert(case.first, inserted)
    done = index.accesses - before
    return Counts(done.index, done.tuples, len(index.take(index.rules[0].name)[0])), done


def yield_construction(case: Case) -> tuple[int, int, int, int]:
    """Index accesses, those of them for semantic entries, entries of data indexes, semantic entries."""
    index, _ = new_index(case)
    done = index.accesses
    data, semantic = entry_count(index)
    return done.index, done.followed + done.moved, data, semantic


def inserted(case: Case, structure: Structure) -> Counts:
    """Half of the first relation comes: the index is updated, then each fact is activated."""
    rows = case.relations[case.first]
    kept = len(rows) // 2
    new = rows[kept:]
    counts = activate(Case(case.name, case.rule, {**case.relations, case.first: rows[:kept]}), structure, new)
    one = Case(case.name, case.rule, {case.first: new})
    counts.index += construction(Case(case.name, case.rule, one.relations), structure)[0]
    return counts
