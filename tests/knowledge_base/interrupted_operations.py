"""Real SIGINTs at random instants of operations: afterwards the state is the one before or the one after, and goes on right.

    python -m tests.knowledge_base.interrupted_operations --count 2000 --seed 1

Programs have closures, general recursion, aggregates and negation. A thread sends each signal after a random part of the time
that the operation usually takes. What is there afterwards is compared with what a knowledge base derives that was never changed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from corollary import Change, KnowledgeBase
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.engine import EmbeddedEngine
from tests.engines.embedded.scenarios import engine_of

RULES = {
    "r1": "path(X, Y) :- edge(X, Y).",
    "r2": "path(X, Z) :- path(X, Y), edge(Y, Z).",
    "r3": "near(X, Y) :- link(X, Y).",
    "r4": "near(X, Y) :- near(Y, X).",
    "r5": "near(X, Z) :- near(X, Y), near(Y, Z).",
    "r6": "peer(X, X) :- root(X).",
    "r7": "peer(X, Y) :- up(X, A), peer(A, B), up(Y, B).",
    "r8": "reach(X, count(Y)) :- path(X, Y).",
    "r9": "lonely(X) :- root(X), not path(X, _).",
    "r10": "hops(X, 0) :- root(X).",
    "r11": "hops(Y, N + 1) :- hops(X, N), edge(X, Y), N < 6.",
    "r12": "most(max(N)) :- reach(_, N).",
}
POOL = {
    "x1": "path(X, Y) :- near(X, Y), root(X).",
    "x2": "peer(X, Y) :- near(X, Y), root(X), root(Y).",
    "x3": "link(X, Y) :- peer(X, Y), X < Y.",
    "x4": "near(X, Y) :- near(X, Z), up(Y, Z).",
    "x5": "few(X) :- reach(X, N), N < 3.",
}
BASE = {"edge": 2, "link": 2, "up": 2, "root": 1}
PREDICATES = ("edge", "link", "up", "root", "path", "near", "peer", "reach", "lonely", "hops", "most", "few")
STRATEGIES = ("auto", "dred", "backward-forward", "dred-counting", "recompute")
Row = tuple[int, ...]
Seen = dict[str, frozenset[tuple[object, ...]]]


@dataclass(frozen=True)
class State:
    """Explicit facts and the names of the rules beside those of every program."""

    facts: frozenset[tuple[str, Row]]
    rules: frozenset[str] = frozenset()

    def with_change(self, change: Change) -> State:
        gone = {(name, row) for name, rows in change.delete.items() for row in rows}
        come = {(name, row) for name, rows in change.insert.items() for row in rows}
        added = {text.partition(":")[0] for text in change.add_rules if isinstance(text, str)}
        return State(self.facts - gone | come, self.rules - set(change.remove_rules) | added)

    @property
    def program(self) -> str:
        rules = [f"{name}: {text}" for name, text in RULES.items()]
        rules += [f"{name}: {POOL[name]}" for name in sorted(self.rules)]
        facts = [f"{name}({', '.join(map(str, row))})." for name, row in sorted(self.facts)]
        return "\n".join([*rules, *facts])


def seen(kb: KnowledgeBase) -> Seen:
    return {name: frozenset(kb.facts(name)) for name in PREDICATES}


def explicit_facts(kb: KnowledgeBase) -> frozenset[tuple[str, Row]]:
    engine = engine_of(kb)
    kb.materialise()
    supports = engine.supports() if kb.settings.updates else _without_support(engine)
    return frozenset(
        (name, tuple(engine.universe.values(row)))
        for name, owner, facts, _ in supports
        if owner == EXPLICIT and name in BASE
        for row in facts.tolist()
    )


def _without_support(engine: EmbeddedEngine) -> Iterator[tuple[str, str, np.ndarray, None]]:
    for name, relation in engine._explicit.relations.items():
        yield name, EXPLICIT, relation.facts, None


def derived(state: State) -> Seen:
    return seen(KnowledgeBase(state.program, updates=False))


@dataclass
class Trial:
    """One knowledge base that lives through many operations; `place` is its directory, if it has one."""

    kb: KnowledgeBase
    state: State
    place: Path | None = None
    known: dict[State, Seen] = field(default_factory=dict)

    def expected(self, state: State) -> Seen:
        if state not in self.known:
            if len(self.known) > 20:
                self.known.clear()
            self.known[state] = derived(state)
        return self.known[state]

    def settle(self, candidates: list[State], what: str) -> None:
        """The state is one of these, in memory and on the disk. Explicit facts count: rules may derive them, too, for a while."""
        found, explicit = seen(self.kb), explicit_facts(self.kb)
        rules = {rule.name for rule in self.kb.program.rules} - RULES.keys()
        for state in candidates:
            if rules == state.rules and explicit == state.facts and found == self.expected(state):
                self.state = state
                break
        else:
            told = [{name: found[name] ^ self.expected(one)[name] for name in PREDICATES} for one in candidates]
            raise AssertionError(f"after {what}: neither before nor after: {told}, {rules}")
        if self.place is not None:
            opened = KnowledgeBase.open(self.place)
            assert opened.version == self.kb.version, f"after {what}: version {opened.version}, not {self.kb.version}"
            assert seen(opened) == found, f"after {what}: the store says something else"
            assert explicit_facts(opened) == explicit, f"after {what}: the store has other explicit facts"


def random_rows(rng: random.Random, name: str, count: int) -> list[Row]:
    return [tuple(rng.randrange(14) for _ in range(BASE[name])) for _ in range(count)]


def random_change(rng: random.Random, state: State, *, rules: bool) -> Change:
    names = rng.sample(sorted(BASE), 2)
    insert = {name: random_rows(rng, name, rng.randrange(1, 5)) for name in names}
    known = sorted(state.facts)
    delete: dict[str, list[Row]] = {}
    for name, row in rng.sample(known, min(len(known), rng.randrange(1, 6))):
        if row not in insert.get(name, ()):
            delete.setdefault(name, []).append(row)
    if not rules:
        return Change(insert, delete)
    name = rng.choice(sorted(POOL))
    if name in state.rules:
        return Change(insert, delete, (), (name,))
    return Change(insert, delete, (f"{name}: {POOL[name]}",))


Operation = tuple[Callable[[], object], list[State]]


def operations(rng: random.Random, trial: Trial, folder: Path) -> dict[str, Callable[[], Operation]]:
    """By name: what makes an operation, with the states that may be there when it is over or was interrupted."""
    kb, state = trial.kb, trial.state

    def apply() -> Operation:
        change = random_change(rng, state, rules=False)
        return lambda: kb.apply(change), [state, state.with_change(change)]

    def change_rules() -> Operation:
        change = random_change(rng, state, rules=True)
        if rng.random() < 0.5:
            change = Change(add_rules=change.add_rules, remove_rules=change.remove_rules)
        if change.add_rules and not change.insert:
            return lambda: kb.add_rules(change.add_rules[0]), [state, state.with_change(change)]
        return lambda: kb.apply(change), [state, state.with_change(change)]

    def insert() -> Operation:
        name = rng.choice(sorted(BASE))
        rows = random_rows(rng, name, 4)
        return lambda: kb.insert(name, rows), [state, state.with_change(Change({name: rows}))]

    def load() -> Operation:
        name = rng.choice(sorted(BASE))
        rows = random_rows(rng, name, 30)
        file = folder / f"{name}.csv"
        file.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows), encoding="utf-8")
        return lambda: kb.load(name, file), [state, state.with_change(Change({name: rows}))]

    def stream() -> Operation:
        states, changes = [state], []
        for _ in range(3):
            changes.append(random_change(rng, states[-1], rules=rng.random() < 0.2))
            states.append(states[-1].with_change(changes[-1]))
        way = rng.choice(("bf-marking", "dred-marking", "bf", "sets", "auto"))

        def follow() -> None:
            with kb.stream(changes, strategy=way, policy="fail") as results:
                for _ in results:
                    pass

        return follow, states

    return {"apply": apply, "rules": change_rules, "insert": insert, "load": load, "stream": stream}


class Interrupter:
    """Sends a SIGINT at a random instant of what is called; knows how long calls of each kind take."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._usual: dict[str, float] = {}
        self.inside: Counter[str] = Counter()
        self.missed = 0

    def call(self, kind: str, operation: Callable[[], object]) -> bool:
        """Whether the operation was interrupted; one that is over when the signal comes was not."""
        delay = self._rng.uniform(0, self._usual.get(kind, 0.05) * 1.1)
        is_over = False
        thread = threading.Thread(target=_interrupt_after, args=(delay,))
        started = time.perf_counter()
        try:
            thread.start()
            operation()
            is_over = True
            taken = time.perf_counter() - started
            self._usual[kind] = 0.8 * self._usual.get(kind, taken) + 0.2 * taken
            thread.join()
            time.sleep(0.001)
        except KeyboardInterrupt:
            thread.join()
        if is_over:
            self.missed += 1
        else:
            self.inside[kind] += 1
        return not is_over


def _interrupt_after(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)


def start(rng: random.Random, folder: Path, *, stored: bool) -> Trial:
    facts = frozenset((name, row) for name in BASE for row in random_rows(rng, name, 12))
    state = State(facts)
    options = {"strategy": rng.choice(STRATEGIES)}
    if stored:
        place = folder / f"store-{rng.randrange(10**9)}"
        return Trial(KnowledgeBase.create(place, state.program, **options), state, place)
    kb = KnowledgeBase(state.program, updates=rng.random() < 0.85, **options)
    kb.materialise()
    return Trial(kb, state)


def interrupt_materialising(rng: random.Random, interrupter: Interrupter, trial: Trial) -> None:
    kb = KnowledgeBase(trial.state.program, strategy=rng.choice(STRATEGIES), updates=rng.random() < 0.7)
    if interrupter.call("materialise", kb.materialise):
        fresh = Trial(kb, trial.state, known=trial.known)
        fresh.settle([trial.state], "an interrupted materialise")
        change = random_change(rng, trial.state, rules=False)
        kb.apply(change)
        fresh.settle([trial.state.with_change(change)], "the change after it")


def interrupt_creating(rng: random.Random, interrupter: Interrupter, trial: Trial, folder: Path) -> None:
    place = folder / f"made-{rng.randrange(10**9)}"
    if interrupter.call("create", lambda: KnowledgeBase.create(place, trial.state.program)) and place.exists():
        opened = Trial(KnowledgeBase.open(place), trial.state, place, trial.known)
        opened.settle([trial.state], "an interrupted create")
    shutil.rmtree(place, ignore_errors=True)


def run(count: int, seed: int) -> Counter[str]:
    """Raise AssertionError where an interrupt did harm; gives how many came inside operations, by kind."""
    rng = random.Random(seed)
    interrupter = Interrupter(rng)
    with _folder() as folder:
        trial, lived = start(rng, folder, stored=False), 0
        while interrupter.inside.total() < count:
            if lived > 25:
                trial, lived = start(rng, folder, stored=rng.random() < 0.5), 0
            lived += 1
            kind = rng.choice(
                ("apply", "apply", "rules", "insert", "load", "stream", "stream", "materialise", "create")
            )
            if kind == "materialise":
                interrupt_materialising(rng, interrupter, trial)
                continue
            if kind == "create":
                interrupt_creating(rng, interrupter, trial, folder)
                continue
            if kind == "stream" and not trial.kb.settings.updates:
                continue
            name = f"{kind} in a store" if trial.place is not None else kind
            operation, states = operations(rng, trial, folder)[kind]()
            was_interrupted = interrupter.call(name, operation)
            what = f"{name} {'that was interrupted' if was_interrupted else 'that was over'} (seed {seed})"
            trial.settle(states if was_interrupted else states[-1:], what)
            if was_interrupted:
                change = random_change(rng, trial.state, rules=rng.random() < 0.3)
                trial.kb.apply(change)
                trial.settle([trial.state.with_change(change)], f"the change after {what}")
                if trial.place is not None and rng.random() < 0.05:
                    assert KnowledgeBase.verify(trial.place) == []
            if sys.stderr.isatty():
                print(f"\r{interrupter.inside.total():,} of {count:,}", end="", file=sys.stderr)
    return interrupter.inside


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what they start in the background ignore it
    print(f"seed {options.seed}")
    for what, times in sorted(run(options.count, options.seed).items()):
        print(f"{times:6,} {what}")
