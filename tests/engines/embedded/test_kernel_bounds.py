"""Nothing in a kernel is too small: rules and facts of every length and width give the facts of the oracle.

Sizes stand at, below and above every number that was or is a size in a kernel. `test_with_bounds_checks` runs this file and those
that try kernels at random once more, with numba looking at every index of an array.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corollary import Change, KnowledgeBase, ProgramError
from corollary.engines.embedded.closures import closure
from corollary.engines.embedded.closures.closure import LinearClosure, SymmetricClosure
from corollary.engines.embedded.relations import memory
from corollary.engines.embedded.relations.index import ChainIndex, RangeIndex
from corollary.engines.embedded.relations.relation import Relation
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.language import parse_program
from corollary.settings import STRATEGIES
from tests.engine_suite.scripts import expected, visible

WIDTHS = (1, 2, 3, 5, 63, 64, 65, 69, 70, 71, 76, 77, 130, 300)
LENGTHS = (2, 63, 64, 65, 255, 256, 257, 258, 300)


def names(count: int, stem: str = "X") -> list[str]:
    return [f"{stem}{number}" for number in range(count)]


def atom(predicate: str, arguments: Iterable[object]) -> str:
    return f"{predicate}({', '.join(map(str, arguments))})"


def same_as_oracle(text: str, **settings: object) -> KnowledgeBase:
    kb = KnowledgeBase(text, **settings)
    assert visible(kb) == expected(parse_program(text)), text[:500]
    return kb


def follows(text: str, changes: Sequence[tuple[str, list[tuple], list[tuple]]], **settings: object) -> None:
    """After each change (predicate, inserted, deleted), what is visible is what a new knowledge base derives."""
    kb = KnowledgeBase(text, **settings)
    kb.count("p")
    facts = {name: set(kb.facts(name)) for name, _, _ in changes}
    for name, inserted, deleted in changes:
        kb.apply(Change(insert={name: inserted}, delete={name: deleted}))
        facts[name] = (facts[name] - set(deleted)) | set(inserted)
        rules = "\n".join(line for line in text.splitlines() if ":-" in line)
        others = [line for line in text.splitlines() if ":-" not in line and not line.startswith(tuple(facts))]
        now = "\n".join([rules, *others, *(atom(one, row) + "." for one in facts for row in facts[one])])
        assert visible(kb) == expected(parse_program(now))


# -- joins -------------------------------------------------------------------------------------------------------------

CIRCLE = "e(1, 2).\ne(2, 3).\ne(3, 4).\ne(4, 1).\n"


def path_rule(length: int) -> str:
    variables = names(length + 1)
    body = ", ".join(atom("e", pair) for pair in pairwise(variables))
    return f"p({variables[0]}, {variables[-1]}) :- {body}.\n"


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("updates", [True, False])
def test_bodies_of_any_length(length: int, updates: bool) -> None:
    same_as_oracle(CIRCLE + path_rule(length), updates=updates)


@pytest.mark.parametrize(
    ("length", "strategy"),
    [
        *[(length, strategy) for length in (59, 65) for strategy in STRATEGIES],
        *[(length, "auto") for length in (255, 256, 258)],
        pytest.param(258, "dred", marks=pytest.mark.slow),
        pytest.param(258, "backward-forward", marks=pytest.mark.slow),
    ],
)
def test_changes_of_long_bodies(length: int, strategy: str) -> None:
    changes = [("e", [(4, 5), (5, 1)], [(4, 1)]), ("e", [(4, 1)], [(4, 5)])]
    follows(CIRCLE + path_rule(length), changes, strategy=strategy)


@pytest.mark.parametrize("length", [59, 61, 65])
@pytest.mark.parametrize("strategy", ["bf-marking", "dred-marking", "sets"])
@pytest.mark.parametrize("index", ["hash", "yield"])
def test_streams_of_long_bodies(length: int, strategy: str, index: str) -> None:
    text = CIRCLE + path_rule(length) + "p(X, Y) :- p(Y, X).\n"
    kb = KnowledgeBase(text, index=index)
    updates = [Change(insert={"e": [(4, 5)]}), Change(insert={"e": [(5, 1)]}, delete={"e": [(4, 1)]})]
    list(kb.stream(updates, strategy=strategy, policy="fail"))
    assert visible(kb) == expected(parse_program(text.replace("e(4, 1).", "e(4, 5).\ne(5, 1).")))


@pytest.mark.parametrize("atoms", [16, 17, 18, 25])
def test_any_number_of_variables(atoms: int) -> None:
    """25 atoms of 60 columns have 1,500 variables."""
    columns = 60
    rows = [[number + column for column in range(columns)] for number in range(atoms)]
    facts = "".join(atom(f"w{number}", row) + ".\n" for number, row in enumerate(rows))
    body = ", ".join(atom(f"w{number}", names(columns, f"X{number}_")) for number in range(atoms))
    head = atom("p", [f"X{number}_{number}" for number in range(atoms)])
    same_as_oracle(f"{facts}{head} :- {body}.\n")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("updates", [True, False])
def test_facts_of_any_width(width: int, updates: bool) -> None:
    """A join over all columns, one over all but the last, negations of both kinds, a unary atom with a wide one, aggregates."""
    variables = names(width)
    row = list(range(width))
    other, third = [*row[:-1], 1000], [7, *row[1:]]
    every, but_last = atom("a", variables), [*variables[:-1], "_"]
    text = f"""
{atom("a", row)}.
{atom("a", other)}.
{atom("a", third)}.
{atom("b", row)}.
u(0).
u(1000).
{atom("join", variables)} :- {every}, {atom("b", variables)}.
{atom("partly", variables)} :- {every}, {atom("b", but_last)}.
{atom("without", variables)} :- {every}, not {atom("b", variables)}.
{atom("without_any", variables)} :- {every}, not {atom("b", but_last)}.
with_unary({variables[-1]}) :- {every}, u({variables[0]}).
unary_first({variables[0]}) :- u({variables[-1]}), {every}.
{atom("turned", variables[::-1])} :- {every}.
{atom("counted", [*variables, "count(X0)"])} :- {every}.
{atom("twice", [*variables, *variables])} :- {every}, {variables[0]} < 7.
"""
    kb = same_as_oracle(text, updates=updates)
    assert len(kb.query(f"{every}, {atom('b', variables)}")) == 1
    if updates:
        gone = tuple(row)
        kb.apply(Change(delete={"b": [gone]}))
        assert (kb.count("join"), kb.count("without")) == (0, 3)
        kb.apply(Change(insert={"b": [gone, tuple(third)]}, delete={"a": [tuple(other)]}))
        assert (kb.count("join"), kb.count("without"), kb.count("twice")) == (2, 0, 1)


@pytest.mark.parametrize("width", [2, 3, 4, 65, 77])
@pytest.mark.parametrize("strategy", ["bf-marking", "dred-marking", "sets"])
@pytest.mark.parametrize("index", ["hash", "yield"])
def test_streams_of_wide_facts(width: int, strategy: str, index: str) -> None:
    variables = names(width)
    turned = [*variables[1:], variables[0]]
    text = f"{atom('p', variables)} :- {atom('a', variables)}, {atom('b', variables)}.\n"
    text += f"{atom('p', turned)} :- {atom('p', variables)}, u({variables[0]}).\nu(0).\nu(1).\n"
    kb = KnowledgeBase(text, index=index)
    row, other = tuple(range(width)), tuple(range(1, width + 1))
    updates = [
        Change(insert={"a": [row, other], "b": [row]}),
        Change(insert={"b": [other]}, delete={"a": [row]}),
        Change(insert={"a": [row]}, delete={"u": [(1,)]}),
    ]
    list(kb.stream(updates, strategy=strategy, policy="fail"))
    facts = [atom(name, one) for name in "ab" for one in (row, other)]
    assert visible(kb) == expected(parse_program(text.replace("u(1).\n", "") + ". ".join(facts) + "."))


@pytest.mark.parametrize("steps", [2, 50, 300])
def test_any_number_of_computations_between_atoms(steps: int) -> None:
    """Each computation ends a pipeline and begins another."""
    variables = names(steps + 1)
    body = ", ".join(f"n({one}), BIND({one} + 1 AS {two})" for one, two in pairwise(variables))
    facts = "".join(f"n({number}).\n" for number in range(steps + 3))
    kb = KnowledgeBase(f"{facts}p(X0, X{steps}) :- {body}.\n", updates=False)
    assert set(kb.facts("p")) == {(start, start + steps) for start in range(4)}


@pytest.mark.parametrize("count", [2, 9, 10, 18, 19, 20, 63, 64, 65, 70, 130])
def test_expressions_of_any_number_of_variables(count: int) -> None:
    """Rows of mixed kinds are computed kind by kind, and all variables tell kinds apart."""
    first, last = ["1.5e0", *["1"] * (count - 1)], [*["1"] * (count - 1), "2.5"]
    rows = [["1"] * count, first, last, ['"text"', *["1"] * (count - 1)]]
    facts = "".join(atom("w", row) + ".\n" for row in rows)
    variables = names(count)
    same_as_oracle(f"{facts}s(S) :- {atom('w', variables)}, S = {' + '.join(variables)}.\n")


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 150])
def test_any_number_of_aggregates_and_groups(count: int) -> None:
    variables = names(count)
    facts = "".join(atom("w", [number % 2, *range(number, number + count)]) + ".\n" for number in range(6))
    groups = atom("groups", [*variables, "max(G)"])
    sums = atom("sums", ["G", *(f"sum({one})" for one in variables)])
    every = atom("w", ["G", *variables])
    kb = same_as_oracle(f"{facts}{groups} :- {every}.\n{sums} :- {every}.\n")
    kb.apply(Change(delete={"w": [(0, *range(count))]}))
    assert kb.count("groups") == 5


def test_many_rules_and_many_comparisons() -> None:
    rules = "".join(f"p{number % 7}(X, {number}) :- e(X, _), X > {number}.\n" for number in range(400))
    compares = ", ".join(f"X != {number}" for number in range(5, 400))
    same_as_oracle(f"{CIRCLE}{rules}all(X) :- e(X, Y), {compares}.\nnone(X) :- e(X, Y), {compares}, X != 2.\n")


@pytest.mark.parametrize("cores", [1, 2])
def test_pipelines_that_threads_share(cores: int) -> None:
    width = 70
    variables = names(width)
    kb = KnowledgeBase(
        f"p(X0, Y, X69) :- {atom('a', variables)}, b(X69, Y).\n", without=() if cores > 1 else ("threads",)
    )
    kb.apply(Change(insert={"a": [(number, *range(width - 1)) for number in range(400)]}))
    kb.apply(Change(insert={"b": [(width - 2, number) for number in range(400)]}))
    assert kb.count("p") == 160_000


# -- relations, indexes, constants -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arity", [1, 2, 3, 4, 5, 6, 7, 8, 16, 21, 22, 31, 32, 33, 63, 64, 65, 77, 130])
@pytest.mark.parametrize("counted", [True, False])
def test_packed_and_wide_rows(arity: int, counted: bool) -> None:
    """Keys at the last bit that fits, and one beyond."""
    bits = 64 // arity
    for code_bits in {max(1, bits - 1), bits, bits + 1, 32}:
        top = (1 << min(code_bits, 32)) - 2
        random = np.random.default_rng(arity * 100 + code_bits)
        codes = random.choice([0, 1, top // 2, max(0, top - 1), top], (500, arity)).astype(np.uint32)
        relation = Relation(arity, code_bits, counted=counted)
        assert relation.insert(codes[:250], "o" if counted else None) == len(set(map(tuple, codes[:250].tolist())))
        relation.widen(code_bits + 1)
        relation.insert(codes, "o" if counted else None)
        assert set(map(tuple, relation.facts.tolist())) == set(map(tuple, codes.tolist()))
        assert relation.contains(codes).all()
        missing = codes.copy()
        missing[:, 0] = top // 2 + 1
        known = set(map(tuple, codes.tolist()))
        assert relation.contains(missing).tolist() == [tuple(row) in known for row in missing.tolist()]
        if counted:
            assert int(relation.support_of("o")[: relation.size].sum()) == 750


@pytest.mark.parametrize("code_bits", [12, 13, 14, 15])
def test_bitmaps_at_the_last_code(code_bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corollary.engines.embedded.relations.relation.BITMAP_FROM", 3)
        top = (1 << code_bits) - 2
        codes = np.array([(0, 0), (0, top), (top, 0), (top, top), (63, 64), (64, 63), (top - 1, top)], np.uint32)
        relation = Relation(2, code_bits)
        assert relation.insert(codes) == len(codes)
        assert relation.contains(codes).all()
        assert not relation.contains(codes[:, ::-1] ^ np.uint32(1)).any()


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 64, 77, 130])
@pytest.mark.parametrize("universe", [1023, 1024, 1025, 1824, 1825, 5000])
def test_indexes_of_any_number_of_columns(columns: int, universe: int) -> None:
    random = np.random.default_rng(columns)
    rows = random.choice([0, 1, universe - 1], (200, columns + 1)).astype(np.uint32)
    rows[:, -1] = np.arange(200)
    key_columns = tuple(range(columns))
    groups: dict[tuple[int, ...], set[int]] = {}
    for number, row in enumerate(rows[:, :columns].tolist()):
        groups.setdefault(tuple(row), set()).add(number)
    index = RangeIndex(rows, key_columns, universe)
    index.cover(universe + 10)
    spans = [
        set(index.rows[low:high, -1].tolist()) for low, high in zip(index.offsets, index.offsets[1:], strict=False)
    ]
    assert sorted(map(sorted, filter(None, spans))) == sorted(map(sorted, groups.values()))
    chain = ChainIndex(key_columns, columns + 1)
    for size in (0, 1, 63, 64, 65, 200):
        chain.extend(rows, size, universe)
    found = []
    for head in chain.heads.tolist():
        row, some = head, []
        while row != 0xFFFFFFFF:
            some.append(row)
            row = int(chain.following[row])
        if some:
            found.append(sorted(some))
    assert sorted(found) == sorted(map(sorted, groups.values()))


def test_texts_of_every_length_around_the_words_that_are_hashed() -> None:
    universe = Universe()
    texts = [letter * length for letter in "ab" for length in (*range(20), 31, 32, 33, 63, 64, 65, 255, 256, 257, 5000)]
    codes = universe.encode_values(texts)
    assert universe.values(codes.tolist()) == texts
    assert universe.encode_values(texts[::-1]).tolist() == codes.tolist()[::-1]
    # The table of the universe grows when it is two thirds full.
    for size in (1364, 1365, 1366, 1367, 5460, 5461, 5462):
        numbers = np.arange(size, dtype=np.int64) - size // 2
        codes = universe.encode_integers(numbers)
        assert universe.words[codes].tolist() == numbers.tolist()
        codes = universe.encode_doubles(numbers.astype(np.float64))
        assert (universe.kinds[codes] == Kind.DOUBLE).all()


@pytest.mark.parametrize("nodes", [1, 2, 63, 64, 65, 127, 128, 129])
def test_closures_at_the_ends_of_words(nodes: int) -> None:
    chain = np.array([(number, number + 1) for number in range(nodes)], np.uint32)
    pairs = {(low, high) for low in range(nodes + 1) for high in range(low + 1, nodes + 1)}
    assert set(map(tuple, LinearClosure(chain, chain, nodes + 1).rows().tolist())) == pairs
    assert SymmetricClosure(chain, nodes + 1, guarded=False).count == (nodes + 1) ** 2
    text = "".join(f"e({low}, {high}).\n" for low, high in chain.tolist())
    kb = KnowledgeBase(text + "t(X, Y) :- e(X, Y).\nt(X, Z) :- t(X, Y), e(Y, Z).\ns(X, Y) :- e(X, Y).\n"
                              "s(X, Y) :- s(Y, X).\ns(X, Z) :- s(X, Y), s(Y, Z).\n")  # fmt: skip
    assert (kb.count("t"), kb.count("s")) == (len(pairs), (nodes + 1) ** 2)
    more = [(nodes + number, nodes + number + 1) for number in range(70)]
    kb.insert("e", more)
    total = nodes + 71
    assert (kb.count("t"), kb.count("s")) == (total * (total - 1) // 2, total**2)
    kb.delete("e", [(0, 1), *more[1:]])
    left = nodes + 1
    assert (kb.count("t"), kb.count("s")) == (left * (left - 1) // 2, left**2 if left > 1 else 0)


@pytest.mark.parametrize("rows", [255, 256, 257, 1023, 1024, 1025])
@pytest.mark.parametrize("counted", [True, False])
def test_dense_joins_at_the_ends_of_blocks(rows: int, counted: bool) -> None:
    random = np.random.default_rng(rows)
    sources, middle, targets = 1100, 40, 130
    left = np.unique(np.stack([np.arange(rows * 3) % sources, random.integers(0, middle, rows * 3)], 1), axis=0)
    right = np.unique(random.integers(0, [middle, targets], (rows, 2)), axis=0)
    universe = sources
    steps: dict[int, list[int]] = {}
    for one, other in right.tolist():
        steps.setdefault(one, []).append(other)
    wanted: dict[tuple[int, int], int] = {}
    for source, place in left.tolist():
        for target in steps.get(place, ()):
            wanted[source, target] = wanted.get((source, target), 0) + 1
    left, right = left.astype(np.uint32), right.astype(np.uint32)
    if counted:
        relation = Relation(2, counted=True)
        closure.insert_counted(left, right, universe, relation, "o")
        found = zip(relation.facts.tolist(), relation.support_of("o").tolist(), strict=False)
        assert {tuple(row): count for row, count in found} == wanted
    else:
        assert set(map(tuple, closure.join(left, right, universe).tolist())) == set(wanted)


# -- what cannot grow --------------------------------------------------------------------------------------------------


def test_more_rows_constants_or_derivations_than_there_are_numbers_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase("p(X, Y) :- a(X), a(Y).\nq :- a(X), a(Y).\n")
    kb.insert("a", [(number,) for number in range(100)])
    assert kb.count("p") == 10_000
    monkeypatch.setattr(memory, "MOST_ROWS", 20_000)
    with pytest.raises(ProgramError, match=r"E304.*facts"):
        kb.insert("a", [(number,) for number in range(100, 300)])
    assert (kb.count("a"), kb.count("p")) == (100, 10_000)
    monkeypatch.undo()
    monkeypatch.setattr(memory, "MOST_CODES", 150)
    with pytest.raises(ProgramError, match=r"E304.*constants"):
        kb.insert("a", [(number,) for number in range(100, 300)])
    monkeypatch.undo()
    monkeypatch.setattr(memory, "MOST_COUNTED", 20_000)
    with pytest.raises(ProgramError, match=r"E304.*times"):
        kb.insert("a", [(number,) for number in range(100, 300)])
    monkeypatch.undo()
    kb.insert("a", [(number,) for number in range(100, 300)])
    assert (kb.count("a"), kb.count("p"), kb.count("q")) == (300, 90_000, 1)


def test_a_count_at_its_last_value() -> None:
    relation = Relation(3, counted=True)
    row = np.array([[1, 2, 3]], np.uint32)
    relation.insert(row, "o")
    relation.support_of("o")[0] = memory.MOST_COUNTED - 1
    relation.insert(row, "o")
    with pytest.raises(ProgramError, match="E304"):
        relation.insert(row, "o")


def test_a_text_longer_than_its_length_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_TEXT", 100)
    universe = Universe()
    universe.encode("x" * 100)
    universe.encode_values(["x" * 60, "y" * 60])
    with pytest.raises(ProgramError, match=r"E304.*101 bytes"):
        universe.encode("x" * 101)


# -- with numba's own checks -------------------------------------------------------------------------------------------

RANDOM_TESTS = (
    "test_kernel_bounds.py", "test_relation.py", "test_closures.py", "test_maintained_closures.py", "test_universe.py",
    "test_ordering.py", "test_threads.py", "test_rounds.py", "test_range_joins.py", "test_value_joins.py", "yield_index",
    "../spark/test_closure_kernels.py", "../spark/test_first_rows.py", "../spark/test_ids.py",
    "../../streams/test_generated_streams.py", "test_generated_programs.py", "test_maintenance.py", "test_strategies.py",
    "../../builtins", "../../io", "../../reasoning",
)  # fmt: skip


def test_the_tests_of_all_kernels_are_there() -> None:
    assert [name for name in RANDOM_TESTS if not (Path(__file__).parent / name).exists()] == []


@pytest.mark.slow
@pytest.mark.skipif("NUMBA_BOUNDSCHECK" in os.environ, reason="this is the run with checks")
def test_with_bounds_checks(tmp_path: Path) -> None:
    here = Path(__file__).parent
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "COROLLARY_EXAMPLES": "few",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["-m", "not slow and not spark", *(str(here / name) for name in RANDOM_TESTS)]
    run = subprocess.run(
        command, env=environment, cwd=here.parents[2], capture_output=True, text=True, timeout=7200, check=False
    )
    assert run.returncode == 0, run.stdout[-8000:]
