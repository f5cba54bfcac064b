"""Ratios and growth: what a change costs beside deriving from scratch, and what twice as much data costs beside once.

Ratios, growth and rounds are of processor time, which other work on the machine stretches less. Where a change and the derivation
from scratch are compared, both keep what later changes need, and the fastest of some runs counts.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow.parquet as pq

from benchmarks import data, ontology, rules
from benchmarks.cache import input_directory
from benchmarks.maintenance.states import State, counts, divided, from_scratch, named, program, tables
from benchmarks.spark.record import Outcome
from corollary import Change, KnowledgeBase, Literal
from corollary.machine import resident_megabytes
from corollary.program.values import XSD

TIMES_SCRATCH, EXPONENT, MICROSECONDS_A_ROUND = 1.2, 1.2, 10.0
SECONDS_TO_READ, SECONDS_OF_CHAIN, SECONDS_OF_LONG_BODY, BYTES_A_CYCLE = 8.7, 2.5, 0.4, 200.0


@dataclass(frozen=True)
class Sizes:
    """`graph` has nodes and edges; `pairs` are the rows of a join at its smallest, `runs` how often each change is made."""

    graph: tuple[int, int]
    tree: int
    points_to: str
    zodiac: int
    turbines: int
    university: bool
    bridges: tuple[int, int]
    pairs: int
    counter: int
    rules: int
    chain: int
    atoms: int
    cycles: int
    runs: int


SIZES = {
    "full": Sizes((2_130, 6_400), 10_000, "andersen", 200, 400, True, (1_500, 4_000), 20_000, 50_000, 100_000, 10_000, 100,
                  2_000, 5),
    "quick": Sizes((100, 300), 200, "", 20, 40, False, (60, 150), 100, 500, 500, 100, 20, 60, 1),
}  # fmt: skip


def run_experiment(name: str, sizes: str) -> Outcome:
    # Kernels are compiled or loaded before anything is measured.
    EXPERIMENTS[name](Outcome(name, "quick"), SIZES["quick"])
    outcome = Outcome(name, sizes)
    EXPERIMENTS[name](outcome, SIZES[sizes])
    return outcome


# -- changes beside deriving from scratch ------------------------------------------------------------------------------


def facts(outcome: Outcome, sizes: Sizes) -> None:
    """One fact, and 5, 10, 25 and 50 % of all, are deleted and come back; turbines are added to a wind farm and removed."""
    for name, state in _states(sizes):
        for share in (0, 5, 10, 25, 50):
            chosen, others = divided(state.tables, max(1, state.explicit * share // 100), seed=share + 1)
            less = state.with_tables(others)
            subject = f"{share} %" if share else "one fact"
            _there_and_back(outcome, sizes, name, subject, state, less, Change(delete=chosen), Change(insert=chosen))
    for share in (10, 20, 30, 40, 50):
        larger = data.wind_farm(sizes.turbines * (100 + share) // 100)
        farm = State(named(rules.RULE_SET_1), tables(data.wind_farm(sizes.turbines)))
        grown = farm.with_tables(tables(larger))
        new = {predicate: rows.slice(len(farm.tables[predicate])) for predicate, rows in grown.tables.items()}
        _there_and_back(
            outcome, sizes, "wind farm", f"{share} % turbines", grown, farm, Change(delete=new), Change(insert=new)
        )


def rule_changes(outcome: Outcome, sizes: Sizes) -> None:
    """A rule leaves a recursive hyper-node and joins it again; a bridge splits one in two and merges them again."""
    recursive = {
        "same generation": (State(named(rules.SAME_GENERATION), tables({"par": _tree(sizes.tree)})), ("r2",)),
        "two halves": (_halves(sizes), ("r3", "r6")),
    }
    if sizes.points_to:
        points_to = State(named(rules.POINTS_TO), tables(_relations(sizes.points_to)))
        recursive["points-to"] = (points_to, ("r2", "r3", "r4"))
    zodiac = State(named(rules.RULE_SET_2), tables(data.zodiac(sizes.zodiac)))
    recursive["rule set 2"] = (zodiac, ("r2", "r3", "r5"))
    smaller = replace(sizes, tree=sizes.tree // 2, bridges=(sizes.bridges[0] // 2, sizes.bridges[1] // 2))
    less_par = State(named(rules.SAME_GENERATION), tables({"par": _tree(smaller.tree)}))
    recursive["same generation, half the data"] = (less_par, ("r2",))
    recursive["two halves, half the data"] = (_halves(smaller), ("r3", "r6"))
    for name, (state, chosen) in recursive.items():
        for rule in chosen:
            less = state.without_rules([rule])
            back = Change(add_rules=(program({rule: state.rules[rule]}),))
            _there_and_back(outcome, sizes, name, rule, state, less, Change(remove_rules=(rule,)), back)


def stores(outcome: Outcome, sizes: Sizes) -> None:
    """A quarter of all facts is deleted and comes back in a directory, beside deriving and writing a directory from scratch."""
    for name, state in _states(sizes):
        chosen, others = divided(state.tables, max(1, state.explicit // 4), seed=26)
        less = state.with_tables(others)
        with tempfile.TemporaryDirectory() as folder:
            state.loaded().save(f"{folder}/kb")
            kb = KnowledgeBase.open(f"{folder}/kb")
            least, written = {"delete": math.inf, "insert": math.inf}, {"delete": math.inf, "insert": math.inf}
            for number in range(sizes.runs):
                for verb, change, after in (
                    ("delete", Change(delete=chosen), less),
                    ("insert", Change(insert=chosen), state),
                ):
                    least[verb] = min(least[verb], _seconds(partial(kb.apply, change)))
                    path, other = f"{folder}/{verb}{number}", after.loaded()
                    written[verb] = min(written[verb], _seconds(partial(other.save, path)))
                    outcome.check(f"{name}, {verb}", sum(counts(kb).values()), sum(counts(other).values()))
            outcome.check(f"{name}, differences", len(KnowledgeBase.verify(f"{folder}/kb")), 0)
            for verb, seconds in least.items():
                _compare(outcome, name, f"{verb} 25 %", seconds, written[verb])


def _there_and_back(
    outcome: Outcome, sizes: Sizes, case: str, subject: str, state: State, less: State, there: Change, back: Change
) -> None:
    """A change to a state with less in it and the change back, each beside the state that it leads to from scratch."""
    kb = state.loaded()
    kb.materialise()
    least = {"without": math.inf, "with": math.inf}
    for _ in range(sizes.runs):
        for way, change in (("without", there), ("with", back)):
            least[way] = min(least[way], _seconds(lambda change=change: kb.apply(change)))  # type: ignore[misc]
            if way == "without":
                found = counts(kb)
    # Deriving from scratch begins where the change does, and takes in the facts that go and come. Very few of them are not
    # deleted before deriving, and do not count.
    if sum(map(len, there.delete.values())) > state.explicit // 32:
        without = partial(from_scratch, state, gone=there.delete, runs=sizes.runs)
    else:
        without = partial(from_scratch, less, runs=sizes.runs)
    if back.insert:
        with_new = partial(from_scratch, less, new=back.insert, runs=sizes.runs)
    else:
        with_new = partial(from_scratch, state, runs=sizes.runs)
    for way, derive, now in (("without", without, found), ("with", with_new, counts(kb))):
        scratch = derive()
        total, expected = sum(now.values()), sum(scratch.counts.values())
        outcome.check(f"{case}, {subject}, {way}", total, expected)
        # A change of rules reads and analyses them, as deriving with other rules from scratch does.
        cpu = scratch.cpu + (scratch.reading if there.remove_rules else 0)
        verb = (
            ("remove" if way == "without" else "add")
            if there.remove_rules
            else ("delete" if way == "without" else "insert")
        )
        _compare(outcome, case, f"{verb} {subject}", least[way], cpu)


def _compare(outcome: Outcome, case: str, subject: str, seconds: float, scratch: float) -> None:
    outcome.add(case, subject, seconds * 1_000, "ms")
    outcome.add(case, f"{subject}: times from scratch", seconds / max(scratch, 1e-6), "", target=TIMES_SCRATCH)


def _states(sizes: Sizes) -> Iterator[tuple[str, State]]:
    nodes, edges = sizes.graph
    yield "tc-random", State(named(rules.TRANSITIVE), tables({"edge": data.graph(nodes, edges, seed=1)}))
    yield "same generation", State(named(rules.SAME_GENERATION), tables({"par": _tree(sizes.tree)}))
    if sizes.points_to:
        yield "points-to", State(named(rules.POINTS_TO), tables(_relations(sizes.points_to)))
    yield "rule set 2", State(named(rules.RULE_SET_2), tables(data.zodiac(sizes.zodiac)))
    if sizes.university:
        axioms = {f"o{number}": axiom.rule for number, axiom in enumerate(ontology.axioms(), start=1)}
        folder = input_directory("lubm-1") / "full"
        yield "universities", State(axioms, {file.stem: pq.read_table(file) for file in sorted(folder.iterdir())})


def _relations(name: str) -> Mapping[str, list[data.Row]]:
    return {predicate: list(rows) for predicate, rows in data.INPUTS[name]().items()}


def _tree(nodes: int) -> list[data.Row]:
    return data._tree(nodes, seed=4)


def _halves(sizes: Sizes) -> State:
    """Two closures with guards, which no closure rewriting takes, and two bridges between them that make them one."""
    nodes, edges = sizes.bridges
    text = """\
a(X, Y) :- e(X, Y).
a(X, Z) :- a(X, Y), e(Y, Z), X != Z.
a(X, Y) :- b(Y, X), m(X).
b(X, Y) :- f(X, Y).
b(X, Z) :- f(X, Y), b(Y, Z), X != Z.
b(X, Y) :- a(X, Y), m(Y).
"""
    graphs = {"e": data.graph(nodes, edges // 4, seed=5), "f": data.graph(nodes, edges // 4, seed=6)}
    return State(named(text), tables({**graphs, "m": [(node,) for node in range(0, nodes, 3)]}))


# -- growth ------------------------------------------------------------------------------------------------------------


def joins(outcome: Outcome, sizes: Sizes) -> None:
    """Joins by value and by order; then on twice and four times as many rows."""
    for case, text, relations in (
        ("V = C + 1", "r(N, V) :- c(N, C), nat(V), V = C + 1.", _equal_values),
        ("V = C", "r(N, V) :- c(N, C), nat(V), V = C.", _equal_values),
        ("A < B", "r(A, B) :- c(_, A), nat(B), A < B.", _ordered_values),
        ("A < B, B < C", "r(A, C) :- c(_, A), nat(B), top(C), A < B, B < C.", _ordered_values),
        ("A < B, B < A + 3", "r(A, B) :- c(_, A), nat(B), A < B, B < A + 3.", _equal_values),
        ("K, A < B, B < A + 50", "r(A, B) :- c(K, A), c(K, B), A < B, B < A + 50.", _few_keys),
        ("dates A < B", "r(A, B) :- c(_, A), nat(B), A < B.", _ordered_dates),
    ):
        for updates in (True, False):
            times = []
            for factor in (1, 2, 4):
                kb = KnowledgeBase(text, updates=updates)
                for predicate, rows in relations(sizes.pairs * factor).items():
                    kb.insert(predicate, rows)
                times.append(_seconds(kb.materialise))
                outcome.check(f"{case}, {factor}x", int(kb.count("r") > 0), 1)
            subject = f"{case}, updates" if updates else case
            outcome.add(subject, "time", times[0])
            outcome.add(subject, "time of four times the rows", times[2])
            exponent = math.log(max(times[2], 1e-6) / max(times[0], 1e-6), 4)
            outcome.add(subject, "exponent of growth", exponent, "", target=EXPONENT)


def _equal_values(count: int) -> dict[str, list[tuple[int, ...]]]:
    return {"c": [(number, number) for number in range(count)], "nat": [(number,) for number in range(count)]}


def _ordered_values(count: int) -> dict[str, list[tuple[int, ...]]]:
    """Few pairs are in order, however many rows there are: what is found grows as they do."""
    above = [(2 * count + number,) for number in range(3)]
    return {
        "c": [(number, count + number) for number in range(count)],
        "nat": [(number,) for number in range(count)] + above,
        "top": [(number,) for number in range(count)] + [(3 * count,)],
    }


def _few_keys(count: int) -> dict[str, list[tuple[int, ...]]]:
    return {"c": [(number % 10, number) for number in range(count)]}


def _ordered_dates(count: int) -> dict[str, list[tuple[int | Literal, ...]]]:
    """Moments in place of the numbers, on a tenth of the rows: reading them takes most of the time."""
    rows = _ordered_values(count // 10)
    start = datetime(1700, 1, 1, tzinfo=UTC)

    def moment(hours: int) -> Literal:
        return Literal(f"{start + timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}Z", XSD + "dateTime")

    return {
        "c": [(number, moment(hours)) for number, hours in rows["c"]],
        "nat": [(moment(hours),) for (hours,) in rows["nat"]],
    }


def rounds(outcome: Outcome, sizes: Sizes) -> None:
    """A counter: every round derives one fact."""
    for updates in (True, False):
        kb = KnowledgeBase(f"n(0). n(X + 1) :- n(X), X < {sizes.counter}.", updates=updates)
        seconds = _seconds(kb.materialise)
        outcome.check("counter", kb.count("n"), sizes.counter + 1)
        case = "counter, updates" if updates else "counter"
        outcome.add(case, "a round", seconds / sizes.counter * 1e6, "µs", target=MICROSECONDS_A_ROUND)


# -- long programs and long lives --------------------------------------------------------------------------------------


def reading(outcome: Outcome, sizes: Sizes) -> None:
    """Many rules, a long chain of them, and a long body."""
    many = "".join(f"p{number}(X, Y) :- q{number}(X, Z), s{number % 100}(Z, Y).\n" for number in range(sizes.rules))
    outcome.add(
        "many rules", f"reading {sizes.rules:,} rules", _seconds(lambda: KnowledgeBase(many)), target=SECONDS_TO_READ
    )
    chain = "p0(1).\n" + "".join(f"p{number + 1}(X) :- p{number}(X).\n" for number in range(sizes.chain))
    read: list[KnowledgeBase] = []
    seconds = _seconds(lambda: read.append(KnowledgeBase(chain)))
    outcome.add("chain", f"reading {sizes.chain:,} rules", seconds, target=SECONDS_OF_CHAIN)
    outcome.check("chain", read[0].count(f"p{sizes.chain}"), 1)
    body = ", ".join(f"e(X{number}, X{number + 1})" for number in range(sizes.atoms))
    kb = KnowledgeBase(f"p(X0, X{sizes.atoms}) :- {body}. e(1, 1).")
    kb.materialise()
    seconds = _seconds(lambda: kb.insert("e", [(1, 2)]))
    outcome.add("long body", f"first change after a body of {sizes.atoms} atoms", seconds, target=SECONDS_OF_LONG_BODY)
    outcome.check("long body", kb.count("p"), 2)


def leaks(outcome: Outcome, sizes: Sizes) -> None:
    """Rules and facts that come and go for long leave nothing behind."""
    kb = KnowledgeBase("p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).")
    kb.insert("e", [(1, 2), (2, 3)])
    kb.materialise()

    def rule() -> None:
        kb.add_rules("extra: q(X) :- p(X, _), not p(_, X).")
        kb.remove_rules("extra")

    def recursive_rule() -> None:
        kb.add_rules("extra: p(Y, X) :- p(X, Y).")
        kb.remove_rules("extra")

    def fact() -> None:
        kb.insert("e", [(3, 1)])
        kb.delete("e", [(3, 1)])

    for case, cycle in (("a rule", rule), ("a rule of a closure", recursive_rule), ("a fact", fact)):
        for _ in range(sizes.cycles // 4):
            cycle()
        before = _resident()
        for _ in range(sizes.cycles):
            cycle()
        outcome.add(case, "left by a cycle", (_resident() - before) / sizes.cycles, "B", target=BYTES_A_CYCLE)
    outcome.check("leaks", kb.count("p"), 3)


def _resident() -> float:
    gc.collect()
    return resident_megabytes() * 2**20


EXPERIMENTS = {
    "facts": facts,
    "rules": rule_changes,
    "stores": stores,
    "joins": joins,
    "rounds": rounds,
    "reading": reading,
    "leaks": leaks,
}


def _seconds(act: Callable[[], object]) -> float:
    """Seconds of processor time."""
    gc.collect()
    started = time.process_time()
    act()
    return time.process_time() - started
