"""Draws scripts: settings of every kind, a program, and steps that mix everything which a knowledge base can do."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.internal.conjecture.data import ConjectureData

from corollary.program import Clause, Iri, Literal, Program, Query, Value
from corollary.program.values import XSD
from corollary.settings import INDEXES, OPTIMISATIONS, STRATEGIES, STREAM_STRATEGIES, Limits, Settings
from tests.demand.queries import query_about
from tests.fuzz.script import Script
from tests.fuzz.steps import Apply, Ask, Call, Care, Compare, Follow, Interrupt, Limit, Read, Reopen, Step, Streamed
from tests.fuzz.world import World, clause_of, short_body, short_clause, short_fact
from tests.generator import EVERYTHING, INTEGERS, POSITIVE, PURE, Change, Fact, Profile, facts_of, programs
from tests.generator.changes import ScriptWriter
from tests.generator.programs import key_of, rules_of_any_layer

T = TypeVar("T")
FEATURES = (
    *("streams", "stores", "feed", "limits", "endless", "stop", "demand", "updates-off", "rules", "index", "without"),
    *("well-founded", "universe", "equality", "mixed-arities", "precision", "global", "terms", "value-joins"),
    *("small", "load", "bad", "interrupts", "memory", "publish", "inequalities", "compare"),
    *STRATEGIES,
)
"""What `--without` can leave out."""

# Rules that no profile of the generator draws, over the same predicates.
TERMS = (
    "u1(s(X)) :- e1(X).",
    "u1([X, Y]) :- e2(X, Y).",
    "u1(T) :- u1([_ | T]).",
    "v1(X) :- u1(s(X)).",
    "v1(X) :- u1([X | _]), not u1(s(X)).",
    "u2(X, f(X, Y)) :- e2(X, Y), e1(X).",
    "v1(Y) :- u2(_, f(_, Y)).",
)
VALUE_JOINS = (
    "w2(X, V) :- e1(X), e2(V, _), V = X + 1.",
    "w2(X, Y) :- e1(X), e2(Y, _), X = Y.",
    "w2(X, Y) :- e2(X, _), e2(_, Y), X < Y, Y < 4.",
    "w2(X, Y) :- w2(X, Z), e2(V, Y), V = Z.",
    "w1(X) :- e1(X), not w2(X, X).",
    "w2(X, Z) :- e2(X, Y), f2(V, Z), V = Y, X != Z.",
    "w1(X) :- e1(X), e2(A, B), f2(C, _), A < B, B <= C, X = C.",
)
INEQUALITIES = (
    "w2(X, Y) :- e1(X), e2(Y, _), X <= Y.",
    "w2(X, Y) :- e2(X, _), f2(_, Y), X != Y.",
    "w2(X, Z) :- e2(X, Y), f2(V, Z), Y < V.",
    "w2(X, Y) :- w2(X, Z), e2(Z, Y), not Y > X.",
    "w1(X) :- e2(X, Y), f2(Y, Z), X < Z, Z != Y.",
    "w1(X) :- e1(X), not w2(X, X).",
    "w2(L, H) :- e1(X), e2(L, H), L < X, X < H.",
    "w2(X, count(Y)) :- e1(X), e2(Y, _), Y < X.",
    "w2(X, Y) :- e1(X), w1(Y), X >= Y.",
)
MIXED: tuple[Value, ...] = (
    *(0, 1, 2, Decimal("0.5"), Decimal("1.5"), 1.0, 0.5, -0.0, float("inf"), float("-inf"), float("nan"), 2**70, 1e300),
    *(
        "",
        "a",
        "A",
        "1",
        "ä",
        True,
        False,
        Iri("http://example.org/a"),
        Literal("chat", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),
    ),
    *(Literal(f"2026-01-0{day}", XSD + "date") for day in (1, 2)),
    *(Literal(f"2026-01-01T{moment}", XSD + "dateTime") for moment in ("12:00:00+01:00", "11:00:00Z", "11:00:00")),
    *(Literal("P1D", XSD + "dayTimeDuration"), Literal("1.0E0", XSD + "float"), Literal("x", "http://example.org/t")),
)
QUERIES = (
    "e2(X, Y), Z = X + Y, Z > X",
    "e2(X, Y), not f2(Y, X)",
    "e2(X, Y), e2(Y, Z), X != Z",
    "e1(X), not e2(X, _)",
    "AGGREGATE(e2(X, Y)) ON X WITH COUNT(Y) AS N",
    "AGGREGATE(e2(X, Y), not e1(Y)) ON X WITH MAX(Y) AS M, N = M",
    "e1(X), e1(Y), X < Y, not e2(X, Y)",
    "e2(X, Y), X = Y",
    "e2(1, X), f2(X, Y)",
    "w2(X, Y), X <= Y",
    "w1(X), not w2(X, X)",
    "e2(X, Y), Z = CONCAT(X, Y)",
    "e1(X), X > 0, Y = X * 2, not e1(Y)",
)
ENDLESS = (
    "n1(X + 1) :- n1(X).",
    "n1(X) :- e1(X).",
    "n1(s(X)) :- n1(X), e1(X).",
    "m1(s(X)) :- m1(X).",
    "m1(X) :- f2(X, _).",
)
GAMES = (
    "p1(X) :- e2(X, Y), not p1(Y).",
    "q1(X) :- e1(X), not r1(X).",
    "r1(X) :- e1(X), not q1(X).",
    "s2(X, Y) :- e2(X, Y), not s2(Y, X).",
    "p1(X) :- f2(X, _), not p1(X), not e1(X).",
    "q2(X, Y) :- s2(X, Y), not q1(Y).",
    "r1(X) :- p1(X), not q2(X, X).",
)
UNSAFE = (
    "q1(X) :- not p1(X).",
    "p2(X, Y) :- e1(X), not e1(Y).",
    "r2(X, Y) :- e1(X), e1(Y), not e2(X, Z).",
    "q2(X, Y) :- e1(X), Y > X.",
    "r1(X) :- not q1(X).",
)
EQUALITIES = (
    "X = Y :- f2(X, Y).",
    "X = Y :- e1(X), f2(X, Y).",
    "X = 1 :- p2(X, X).",
    "X = Y :- p2(X, Y), e1(Y).",
    "q1(X) :- e1(X), not f2(X, _).",
    "p2(X, Z) :- p2(X, Y), e2(Y, Z).",
)

SPARK_WAYS: tuple[tuple[tuple[str, int], ...], ...] = (
    (),
    (),
    (("task_change_facts", 0), ("recompute_facts", 0)),
    (("task_change_facts", 0), ("recompute_facts", 0), ("driver_facts", 0)),
    (("change_rows", 2), ("fold_changes", 0)),
    (("task_change_facts", 0), ("recompute_facts", 0), ("driver_facts", 0), ("change_rows", 2)),
    (("single_task_facts", 0),),
    (("task_fact_cap", 3),),
)
"""Settings of Spark under which few facts are followed in the ways of many."""


def script_of(seed: int, without: Collection[str] = (), engine: str = "embedded") -> Script:
    """The script of a seed; the same seed gives the same script."""
    return _Drawer(seed, without, is_on_spark=engine == "spark").script()


class _Drawer:
    def __init__(self, seed: int, without: Collection[str], *, is_on_spark: bool) -> None:
        self._is_on_spark = is_on_spark
        self._choose = random.Random(seed)
        self._seed = seed
        self._without = without
        self._extra: list[str] = []
        self._is_any = False  # facts have values of any kind
        self._numbers = 0
        self._writer: ScriptWriter

    # -- chances -----------------------------------------------------------------------------------------------------

    def _chance(self, probability: float, feature: str | None = None) -> bool:
        """Draws whether or not a feature is left out, so that leaving one out changes nothing else."""
        drawn = self._choose.random() < probability
        return drawn and feature not in self._without

    def _pick(self, options: Sequence[T]) -> T:
        return options[self._choose.randrange(len(options))]

    def _draw(self, strategy: st.SearchStrategy[T]) -> T:
        """Draws from one of the generator's strategies, outside of a test of hypothesis."""
        return ConjectureData(random=random.Random(self._choose.getrandbits(64))).draw(strategy)

    # -- scripts -----------------------------------------------------------------------------------------------------

    def script(self) -> Script:
        profile, settings = self._meaning()
        settings |= self._ways()
        self._profile = profile
        program: Program = self._draw(programs(profile))
        clauses = [*program.of_type(Clause), *(self._named(text) for text in self._some(self._extra))]
        facts = list(facts_of(program).values())
        if "n1" in "".join(self._extra):
            facts += [("n1", (0,))] * self._chance(0.3)
        self._writer = ScriptWriter(self._draw, profile, program)
        self._is_mixed = bool(settings.get("mixed_arities"))
        chosen = Settings.of(**settings)
        if self._is_any:
            facts += [self._any_fact() for _ in range(self._pick((0, 4, 10)))]
        world = World.of(facts, clauses, chosen)
        facts = list(world.facts.values())
        is_stored = self._chance(0.5 if self._is_on_spark else 0.3, "stores")
        steps = tuple(self._steps(world, is_stored))
        if self._is_mixed:
            facts, clauses = list(map(short_fact, facts)), list(map(short_clause, clauses))
        return Script(
            tuple(facts),
            tuple(clauses),
            tuple(settings.items()),
            steps,
            is_stored=is_stored,
            is_small=self._chance(0.5, "small"),
            engine="spark" if self._is_on_spark else "embedded",
            spark_settings=self._pick(SPARK_WAYS) if self._is_on_spark else (),
        )

    def _meaning(self) -> tuple[Profile, dict[str, Any]]:
        """What programs mean, and a profile that the oracle of that meaning can take."""
        small = {"max_facts": self._pick((4, 8, 12)), "max_groups": self._pick((2, 3, 5))}
        if not self._chance(0.3):
            profile = self._pick((EVERYTHING, EVERYTHING, INTEGERS, POSITIVE, PURE))
            domain = self._pick(profile.domains)
            settings: dict[str, Any] = {}
            if self._chance(0.3, "terms"):
                self._extra += TERMS
            if self._chance(0.3, "value-joins"):
                self._extra += VALUE_JOINS
            if self._chance(0.3, "inequalities"):
                self._extra += INEQUALITIES
                self._is_any = True
            if self._chance(0.1, "endless"):
                self._extra += ENDLESS
            if self._chance(0.25, "stop"):
                settings["on_error"] = "stop"
            if self._chance(0.1, "global"):
                settings["stratification"] = "global"
            if self._chance(0.15, "mixed-arities"):
                settings["mixed_arities"] = True
            return profile.but(domain=domain, **small), settings
        settings = {}
        profile = EVERYTHING.but(aggregates=False, arithmetic=False, local_stratification=False)
        if self._chance(0.4, "well-founded"):
            settings["semantics"] = "well-founded"
            self._extra += GAMES
        if self._chance(0.4, "universe"):
            settings["unsafe"] = "universe"
            self._extra += UNSAFE
        if self._chance(0.4, "equality"):
            self._extra += EQUALITIES
        if self._chance(0.2, "precision"):
            settings["precision"] = self._pick((10, 40))
        if self._chance(0.2, "mixed-arities"):
            settings["mixed_arities"] = True
        return profile.but(domain=self._pick(profile.domains), max_facts=6, max_groups=2), settings

    @property
    def _indexes(self) -> tuple[str, ...]:
        """Those that every engine of the script has."""
        return ("auto", "hash") if self._is_on_spark else INDEXES

    def _ways(self) -> dict[str, Any]:
        """How the knowledge base works; none of it changes what it says."""
        settings: dict[str, Any] = {}
        strategy = self._pick(STRATEGIES)
        if strategy != "auto" and strategy not in self._without:
            settings["strategy"] = strategy
        index = self._pick(self._indexes)
        if index != "auto" and "index" not in self._without:
            settings["index"] = index
        if self._chance(0.12, "updates-off"):
            settings["updates"] = False
        if self._chance(0.3, "demand"):
            settings["mode"] = self._pick(("demand", "materialise"))
        left_out = tuple(one for one in OPTIMISATIONS if self._choose.random() < 0.2)
        if self._chance(0.3, "without") and left_out:
            settings["without"] = left_out
        if self._chance(0.1, "without") and not self._is_on_spark:
            settings["evaluation"] = "naive"
        if self._chance(0.1, "limits"):
            settings["limits"] = self._limits()
        elif any("n1" in one for one in self._extra):
            settings["limits"] = Limits(facts=self._pick((300, 2_000)), rounds=self._pick((None, 60)))
        return settings

    def _limits(self) -> Limits:
        kind = self._pick(("facts", "facts", "rounds", "rounds", "seconds", "depth", "memory", "all"))
        limits = {
            "facts": Limits(facts=self._pick((0, 5, 10, 20, 40))),
            "rounds": Limits(rounds=self._pick((1, 2, 3, 5))),
            "seconds": Limits(seconds=self._pick((0.0, 0.0005))),
            "depth": Limits(depth=self._pick((1, 2))),
            "memory": Limits(memory=self._pick((1, 100_000))),
            "all": Limits(seconds=30.0, facts=20_000, rounds=1_000, memory=100_000),
        }[kind]
        is_endless = any("n1" in one for one in self._extra)
        return replace(limits, facts=2_000) if is_endless and limits.facts is None else limits

    def _some(self, texts: Sequence[str]) -> list[str]:
        return [text for text in texts if self._choose.random() < 0.4]

    def _named(self, text: str) -> Clause:
        self._numbers += 1
        return clause_of(text, f"x{self._numbers}")

    # -- steps -------------------------------------------------------------------------------------------------------

    def _steps(self, world: World, is_stored: bool) -> list[Step]:
        steps: list[Step] = []
        kinds: list[tuple[int, str | None, Callable[[World], tuple[Step, World]]]] = [
            (8, None, self._apply),
            (6, None, self._call),
            (2, "interrupts", lambda now: self._disturbed(now, "interrupted")),
            (1, "memory", lambda now: self._disturbed(now, "crowded")),
            (1, "compare", self._compare),
            (4, "streams", self._stream),
            (3, "demand", self._ask),
            (1, None, lambda now: (Read(self._pick(("materialise", "rules"))), now)),
            (1, "limits", lambda now: (Limit(self._pick((Limits(), self._limits()))), now)),
            (2 if is_stored else 1, "stores", lambda now: (self._reopen(), now)),
        ]
        if is_stored:
            whats = ("compact", "vacuum", "verify", "old", "old", "changes")
            kinds.append((2, None, lambda now: (Care(self._pick(whats), self._choose.randrange(9)), now)))
        if self._chance(0.15, "feed"):
            kinds.append((2, None, lambda now: (Follow(), now)))
        if self._chance(0.15, "publish"):
            kinds.append((2, None, lambda now: (Follow("publish"), now)))
        weighted = [(feature, make) for weight, feature, make in kinds for _ in range(weight)]
        has_limits = "limits" in self._without
        for _ in range(self._pick((2, 3, 5) if self._is_on_spark else (4, 8, 12, 20))):
            feature, make = self._pick(weighted)
            state = self._choose.getstate()
            step, after = make(world)
            if feature in self._without or (has_limits and isinstance(step, Limit)):
                self._choose.setstate(state)
                continue
            world = after
            steps.append(step)
        return steps

    def _reopen(self) -> Step:
        settings = tuple(self._reopened().items())
        return Reopen(settings, self._pick(("embedded", "spark"))) if self._is_on_spark else Reopen(settings)

    def _reopened(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._chance(0.3):
            found["strategy"] = self._pick([one for one in STRATEGIES if one not in self._without] or ["auto"])
        if self._chance(0.15, "updates-off"):
            found["updates"] = False
        if self._chance(0.2, "index"):
            found["index"] = self._pick(self._indexes)
        if any("n1" in one for one in self._extra):
            found["limits"] = Limits(facts=2_000)
        elif self._chance(0.15, "limits"):
            found["limits"] = self._limits()
        return found

    def _change(self, world: World) -> Change:
        change = self._writer.change(world.program)
        if self._is_any and self._chance(0.7):
            some = tuple(self._any_fact() for _ in range(self._pick((1, 2, 5))))
            change = replace(change, insert=(*change.insert, *some))
        if "rules" in self._without:
            change = Change(change.insert, change.delete)
        elif self._extra and self._chance(0.3):
            added = (*change.add_rules, self._named(self._pick(self._extra)))
            extras = [name for name in world.clauses if name.startswith("x") and name not in change.remove_rules]
            removed = change.remove_rules + ((self._pick(extras),) if extras and self._chance(0.5) else ())
            change = replace(change, add_rules=added, remove_rules=removed)
        if any(one in self._extra for one in EQUALITIES) and self._chance(0.1):
            equal: Fact = ("=", (self._value(world), self._value(world)))
            change = replace(change, insert=(*change.insert, equal))
        return change

    def _any_fact(self) -> Fact:
        predicate = self._pick(("e1", "e2", "f2"))
        return predicate, tuple(self._pick(MIXED) for _ in range(int(predicate[1])))

    def _value(self, world: World) -> Value:
        values = [value for _, row in world.facts.values() for value in row]
        return self._pick([*values, 1, 2])

    def _short(self, change: Change) -> Change:
        if not self._is_mixed:
            return change
        insert, delete = (tuple(map(short_fact, facts)) for facts in (change.insert, change.delete))
        return Change(insert, delete, tuple(map(short_clause, change.add_rules)), change.remove_rules)

    def _apply(self, world: World) -> tuple[Step, World]:
        change = self._change(world)
        how = self._pick(("apply",) * 5 + ("block", "abandon", "spoil"))
        after = world if how in ("abandon", "spoil") else world.after(change) or world
        return Apply(self._short(change), how), after

    def _disturbed(self, world: World, how: str) -> tuple[Step, World]:
        kinds = (self._apply, self._apply, self._call, self._call, self._stream, self._ask, self._read, self._care)
        step, _ = self._pick(kinds)(world)
        return Interrupt(step, self._pick((1, 2, 3, 5, 8, 13, 21, 40)), how), world

    def _read(self, world: World) -> tuple[Step, World]:
        return self._pick((Read(), Read("rules"), self._reopen(), Follow(), Follow("publish"))), world

    def _care(self, world: World) -> tuple[Step, World]:
        return Care("compact"), world

    def _compare(self, world: World) -> tuple[Step, World]:
        text = self._pick(QUERIES)
        return Compare(text, self._pick((None, "demand", "materialise", "auto"))), world

    def _call(self, world: World) -> tuple[Step, World]:
        change = self._change(world)
        method = self._pick(("insert", "insert", "delete", "add_rules", "remove_rules", "load"))
        if method == "load" and "load" in self._without:
            method = "insert"
        if method in ("insert", "load"):
            facts = change.insert or (self._fact(world),)
            predicate, width = facts[0][0], len(facts[0][1])
            facts = tuple(fact for fact in facts if (fact[0], len(fact[1])) == (predicate, width))
            is_bad = self._chance(0.1, "bad")
            after = world if is_bad else world.after(Change(facts)) or world
            return Call(method, self._short(Change(facts)).insert, is_bad=is_bad), after
        if method == "delete":
            facts = change.delete or (self._fact(world),)
            facts = tuple(fact for fact in facts if (fact[0], len(fact[1])) == (facts[0][0], len(facts[0][1])))
            return Call(method, self._short(Change(facts)).insert), world.after(Change(delete=facts)) or world
        if method == "add_rules":
            added = tuple(clause for clause in change.add_rules if clause.name not in world.clauses)
            return Call(method, rules=self._short(Change(add_rules=added)).add_rules), world.after(
                Change(add_rules=added)
            ) or world
        names = change.remove_rules
        return Call(method, names=names), world.after(Change(remove_rules=names)) or world

    def _fact(self, world: World) -> Fact:
        return self._pick([*world.facts.values(), ("e1", (self._value(world),)), ("e2", (1, self._value(world)))])

    def _stream(self, world: World) -> tuple[Step, World]:
        updates: list[Change] = []
        between: list[tuple[int, Step]] = []
        for number in range(self._pick((1, 2, 3, 5))):
            change = self._change(world)
            if not self._chance(0.1):  # mostly such as a stream accepts
                there = world.facts.keys()
                delete = tuple(fact for fact in change.delete if key_of(fact) in there)
                change = replace(change, delete=delete)
            if not self._chance(0.3):
                change = Change(change.insert, change.delete)
            updates.append(self._short(change))
            world = world.after(change) or world
            if self._chance(0.15):
                step, world = self._pick((self._apply, self._call, self._ask))(world)
                between.append((number, step))
        stop = self._choose.randrange(len(updates)) if self._chance(0.2) else None
        step = Streamed(
            self._pick(STREAM_STRATEGIES),
            tuple(updates),
            self._pick(("list", "list", "delayed", "file", "iterator")),
            self._pick(("reject", "reject", "fail")),
            tuple(between),
            stop,
            f"s{self._choose.randrange(1_000_000)}" if self._chance(0.3) else None,
        )
        return step, world

    def _ask(self, world: World) -> tuple[Step, World]:
        bodies = [body for _, body in self._draw(rules_of_any_layer(self._profile))]
        query = Query(bodies[0]) if bodies else self._draw(query_about(world.program, self._profile))
        if self._chance(0.5):
            query = self._draw(query_about(world.program, self._profile))
        if self._is_mixed:
            query = Query(short_body(query.body))
        return Ask(query, self._pick((None, "demand", "materialise", "auto"))), world
