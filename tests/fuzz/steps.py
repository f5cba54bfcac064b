"""The steps of scripts: what each does to a knowledge base and to the model, how it is written, and smaller ones in its place."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from corollary import Change as Changes
from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError, catalogue
from corollary.diagnostics.catalogue import CATALOGUE
from corollary.language import Printer, print_element
from corollary.program import Clause, Constant, Program, Query
from corollary.settings import Limits
from tests.fuzz.machine import NOT_STORED, Difference, Machine, bounded, by_limits, crash, crowded, interrupted
from tests.fuzz.world import Truth, World, block_of
from tests.generator import Change, Fact
from tests.generator.programs import key_of
from tests.streams.updates import Delayed

T = TypeVar("T")
NO_STREAM, ABSENT, UNKNOWN = (
    kind.code for kind in (catalogue.NOT_STREAMED, catalogue.ABSENT_FACT, catalogue.UNKNOWN_IN_UPDATE)
)


class Step:
    def run(self, machine: Machine) -> None:
        raise NotImplementedError

    def code(self) -> list[str]:
        """Lines of Python that do the same to `kb`."""
        raise NotImplementedError

    def smaller(self) -> Iterator[Step]:
        """Simpler steps of the same kind."""
        return iter(())


# -- writing -----------------------------------------------------------------------------------------------------------


def text_of(clause: Clause) -> str:
    return " ".join(line.strip() for line in Printer().statement(clause))


def rows_of(facts: Sequence[Fact]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for predicate, row in facts:
        found.setdefault(predicate, []).append(row)
    return found


def changes_of(change: Change, world: World) -> Changes:
    """A change as the public API takes it; with mixed arities the names say the numbers of arguments."""
    insert, delete = (
        rows_of([(world.name(predicate, len(row)), row) for predicate, row in facts])
        for facts in (change.insert, change.delete)
    )
    return Changes(insert, delete, (Program(change.add_rules),) if change.add_rules else (), change.remove_rules)


def written(change: Change) -> str:
    parts = []
    for name, facts in (("insert", change.insert), ("delete", change.delete)):
        if facts:
            parts.append(f"{name}={rows_of(facts)!r}")
    if change.add_rules:
        parts.append(f"add_rules={tuple(map(text_of, change.add_rules))!r}")
    if change.remove_rules:
        parts.append(f"remove_rules={change.remove_rules!r}")
    return f"Change({', '.join(parts)})"


def without_one(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The items without half of them, then without each one."""
    if len(items) > 3:
        middle = len(items) // 2
        yield tuple(items[middle:])
        yield tuple(items[:middle])
    for place in range(len(items)):
        yield (*items[:place], *items[place + 1 :])


def smaller_rules(clauses: Sequence[Clause]) -> Iterator[tuple[Clause, ...]]:
    """The rules with one condition less."""
    for place, clause in enumerate(clauses):
        for body in without_one(clause.body):
            if body:
                yield (*clauses[:place], replace(clause, body=body), *clauses[place + 1 :])


def smaller_changes(change: Change) -> Iterator[Change]:
    for name in ("insert", "delete", "add_rules", "remove_rules"):
        for fewer in without_one(getattr(change, name)):
            yield replace(change, **{name: fewer})
    for clauses in smaller_rules(change.add_rules):
        yield replace(change, add_rules=clauses)


# -- changes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Apply(Step):
    """One transaction, by `apply` or by a `with` block; a block that raises at its end changes nothing."""

    change: Change
    how: str = "apply"

    def run(self, machine: Machine) -> None:
        kb, changes = machine.kb, changes_of(self.change, machine.world)
        if self.how == "abandon":
            machine.change(lambda: self._abandon(kb, changes), machine.world)
        elif self.how == "spoil":
            spoilt = replace_rules(changes, (*changes.add_rules, "spoilt(X :- e2(X, X)."))
            machine.change(lambda: kb.apply(spoilt), None)
        elif self.how == "block":
            machine.change(lambda: self._block(kb, changes), machine.world.after(self.change))
        else:
            machine.change(lambda: kb.apply(changes), machine.world.after(self.change))

    def _block(self, kb: KnowledgeBase, changes: Changes) -> Any:
        with kb.transaction() as tx:
            for predicate, rows in changes.delete.items():
                tx.delete(predicate, rows)
            for predicate, rows in changes.insert.items():
                tx.insert(predicate, rows)
            tx.remove_rules(*changes.remove_rules)
            tx.add_rules(*changes.add_rules)
        return tx.result

    def _abandon(self, kb: KnowledgeBase, changes: Changes) -> None:
        try:
            with kb.transaction() as tx:
                for predicate, rows in changes.insert.items():
                    tx.insert(predicate, rows)
                raise _Abandoned
        except _Abandoned:
            pass

    def code(self) -> list[str]:
        if self.how == "abandon":
            return []
        if self.how == "spoil":
            return ["try:", f"    kb.apply({written(self.change)}, Change(add_rules=('spoilt(X :- e2(X, X).',)))",
                    "except ProgramError:", "    pass"]  # fmt: skip
        return [f"kb.apply({written(self.change)})"]

    def smaller(self) -> Iterator[Step]:
        if self.how != "apply":
            yield replace(self, how="apply")
        for change in smaller_changes(self.change):
            yield replace(self, change=change)


class _Abandoned(Exception):
    """Raised inside a block of a transaction."""


def replace_rules(changes: Changes, rules: tuple[Any, ...]) -> Changes:
    return Changes(changes.insert, changes.delete, rules, changes.remove_rules)


@dataclass(frozen=True)
class Call(Step):
    """One of `insert`, `delete`, `load`, `add_rules`, `remove_rules`; refused for a value that is no constant where `is_bad`."""

    method: str
    facts: tuple[Fact, ...] = ()
    rules: tuple[Clause, ...] = ()
    names: tuple[str, ...] = ()
    is_bad: bool = False

    def run(self, machine: Machine) -> None:
        kb, world = machine.kb, machine.world
        if self.method in ("insert", "delete", "load"):
            if not self.facts:
                return
            predicate, row = self.facts[0]
            facts = [fact for fact in self.facts if (fact[0], len(fact[1])) == (predicate, len(row))]
            name, rows = world.name(predicate, len(row)), [fact[1] for fact in facts]
            if self.is_bad and row:
                bad = [*rows, (None,) * len(row)]
                machine.change(lambda: kb.insert(name, bad), None)
                return
            wanted = world.after(Change(delete=tuple(facts)) if self.method == "delete" else Change(tuple(facts)))
            if self.method == "load":
                path = machine.new_file("json")
                scratch = KnowledgeBase(mixed_arities=world.settings.mixed_arities)
                scratch.insert(name, rows)
                scratch.write(name, path)
                machine.change(lambda: kb.load(name, path), wanted)
            else:
                call = kb.insert if self.method == "insert" else kb.delete
                machine.change(lambda: call(name, rows), wanted)
        elif self.method == "add_rules":
            if self.rules:
                machine.change(lambda: kb.add_rules(Program(self.rules)), world.after(Change(add_rules=self.rules)))
        elif self.names:
            machine.change(lambda: kb.remove_rules(*self.names), world.after(Change(remove_rules=self.names)))

    def code(self) -> list[str]:
        if self.method == "add_rules":
            return [f"kb.add_rules({' '.join(map(text_of, self.rules))!r})"]
        if self.method == "remove_rules":
            return [f"kb.remove_rules({', '.join(map(repr, self.names))})"]
        if not self.facts:
            return []
        predicate, first = self.facts[0]
        rows = [row for name, row in self.facts if (name, len(row)) == (predicate, len(first))]
        method = "insert" if self.method == "load" else self.method
        note = "  # from a file" if self.method == "load" else ""
        if self.is_bad:
            bad = [*rows, (None,) * len(first)]
            return ["try:", f"    kb.insert({predicate!r}, {bad!r})", "except ProgramError:", "    pass"]
        return [f"kb.{method}({predicate!r}, {rows!r}){note}"]

    def smaller(self) -> Iterator[Step]:
        if self.method == "load":
            yield replace(self, method="insert")
        for facts in without_one(self.facts):
            yield replace(self, facts=facts)
        for rules in without_one(self.rules):
            yield replace(self, rules=rules)
        for rules in smaller_rules(self.rules):
            yield replace(self, rules=rules)
        for names in without_one(self.names):
            yield replace(self, names=names)


@dataclass(frozen=True)
class Interrupt(Step):
    """Another step, with Ctrl-C at the n-th check of its run, or with no memory left from there on."""

    step: Step
    at: int
    how: str = "interrupted"

    def run(self, machine: Machine) -> None:
        limits = machine.kb.limits
        if self.how == "crowded":
            machine.kb.limits = replace(limits, memory=1)
        machine.disturbance = lambda: _DISTURBANCES[self.how](self.at)
        kb = machine.kb
        try:
            self.step.run(machine)
        finally:
            machine.disturbance = nullcontext
            if machine.kb is kb:
                kb.limits = limits

    def code(self) -> list[str]:
        lines = [f"    {line}" for line in self.step.code()]
        return [
            f"from tests.fuzz.machine import {self.how}",
            *(["limits, kb.limits = kb.limits, Limits(memory=1)"] if self.how == "crowded" else []),
            "try:",
            f"  with {self.how}({self.at}):",
            *(lines or ["    pass"]),
            "except (KeyboardInterrupt, ProgramError):",
            "    pass",
            *(["kb.limits = limits"] if self.how == "crowded" else []),
        ]

    def smaller(self) -> Iterator[Step]:
        yield self.step
        for at in range(1, self.at):
            yield replace(self, at=at)
        for step in self.step.smaller():
            yield replace(self, step=step)


_DISTURBANCES = {"interrupted": interrupted, "crowded": crowded}


# -- streams -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Streamed(Step):
    """Updates by a stream, with other steps between some of them; it is left before its end where `stop` says so."""

    strategy: str
    updates: tuple[Change, ...]
    source: str = "list"
    policy: str = "reject"
    between: tuple[tuple[int, Step], ...] = ()
    stop: int | None = None
    name: str | None = None

    def run(self, machine: Machine) -> None:
        """A stream with a name that stops is started again by another knowledge base, and goes on from there."""
        updates = [changes_of(change, machine.world) for change in self.updates]
        is_named = self.name is not None and machine.is_stored and self.source in ("list", "file")
        source, end = self._source(machine, updates), len(updates)
        if self.stop is None or self.stop >= end:
            self._follow(machine, source, 0, end, is_named)
            return
        if self._follow(machine, source, 0, self.stop, is_named) and is_named:
            Reopen().run(machine)
            self._follow(machine, source, self.stop, end, is_named)

    def _follow(self, machine: Machine, source: Any, start: int, end: int, is_named: bool) -> bool:
        """Takes some of the updates; whether there may be more."""
        stream = machine.refusable(
            lambda: machine.kb.stream(
                source, strategy=self.strategy, policy=self.policy, name=self.name if is_named else None
            ),
            [machine.world],
            [] if machine.settings.updates else [NO_STREAM],
            must=not machine.settings.updates,
        )
        if stream is None:
            return False
        machine.check()
        with stream:
            for number in range(start, end):
                if not self._one(machine, stream, self.updates[number]):
                    return False
                machine.check()
                for place, step in self.between:
                    if place == number:
                        step.run(machine)
                        machine.check()
        return True

    def _source(self, machine: Machine, updates: list[Changes]) -> Any:
        if self.source == "iterator":
            return iter(updates)
        if self.source == "delayed":
            return Delayed(updates, random.Random(len(updates)))
        if self.source == "file" and not any(change.add_rules or change.remove_rules for change in self.updates):
            path = machine.new_file("txt")
            path.write_text("\n".join(_lines(change) for change in self.updates), encoding="utf-8")
            return path
        return updates

    def _one(self, machine: Machine, stream: Any, change: Change) -> bool:
        """Takes one update; whether the stream goes on."""
        world = machine.world
        after = world.after(change)
        absent = any(key_of(fact) not in world.facts for fact in change.delete)
        names = {world.name(predicate, len(row)) for predicate, row in (*change.insert, *change.delete)}
        known = set(machine.kb.predicates())
        also = [code for code, holds in ((ABSENT, absent), (UNKNOWN, bool(names - known))) if holds]

        def take() -> Any:
            result = next(stream)
            if result.rejected is not None:
                raise ProgramError(result.rejected.diagnostics)
            return result

        is_noted = stream._positions is not None
        is_taken = machine.change(take, after, also, must=absent, is_noted=is_noted)
        # Who is interrupted while it takes an update has the last word: some sources give it once only.
        return not stream._is_over and (is_taken or machine.disturbance is nullcontext)

    def code(self) -> list[str]:
        options = [f"[{', '.join(map(written, self.updates))}]", f"strategy={self.strategy!r}"]
        options += [f"policy={self.policy!r}"] if self.policy != "reject" else []
        options += [f"name={self.name!r}"] if self.name is not None else []
        stream = f"kb.stream({', '.join(options)})"
        if not self.between and self.stop is None:
            return [f"list({stream})"]
        lines = [f"with {stream} as stream:"]
        for number in range(len(self.updates) if self.stop is None else min(self.stop, len(self.updates))):
            lines.append("    next(stream)")
            for place, step in self.between:
                if place == number:
                    lines += [f"    {line}" for line in step.code()]
        return lines

    def smaller(self) -> Iterator[Step]:
        for number in range(len(self.updates)):
            fewer = (*self.updates[:number], *self.updates[number + 1 :])
            between = tuple((place - (place > number), step) for place, step in self.between if place != number)
            yield replace(self, updates=fewer, between=between)
        for fewer_between in without_one(self.between):
            yield replace(self, between=fewer_between)
        for field, usual in (("source", "list"), ("policy", "reject"), ("stop", None), ("name", None)):
            if getattr(self, field) != usual:
                yield replace(self, **{field: usual})  # type: ignore[arg-type]
        for number, change in enumerate(self.updates):
            for one in smaller_changes(change):
                yield replace(self, updates=(*self.updates[:number], one, *self.updates[number + 1 :]))
        for number, (place, step) in enumerate(self.between):
            for less in step.smaller():
                yield replace(self, between=(*self.between[:number], (place, less), *self.between[number + 1 :]))


def _lines(change: Change) -> str:
    def text(fact: Fact) -> str:
        return " ".join(line.strip() for line in Printer().statement(block_of(fact))).rstrip(".")

    lines = [f"delete({text(fact)})." for fact in change.delete] + [f"add({text(fact)})." for fact in change.insert]
    return "\n".join(lines or ["{}"]) + "\n"


# -- questions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask(Step):
    query: Query
    mode: str | None = None

    def run(self, machine: Machine) -> None:
        world = machine.world
        expected = world.answers(self.query)
        is_fed = world.truth.is_endless and expected is not None  # by rules that end
        found = machine.refusable(
            lambda: self._ask(machine.kb),
            [] if is_fed else [world],
            CATALOGUE if expected is None else self._refusals(machine, expected),
        )
        if found is None or expected is None:
            return
        try:
            rows = [tuple(map(Constant, row)) for row in found.constants()]
        except Exception as error:
            raise crash(error, "answers: ") from error
        if len(rows) != len(set(rows)):
            raise Difference("answers", f"an answer comes twice: {rows}")
        if set(rows) != expected:
            raise Difference("answers", f"{sorted(map(repr, rows))}, and not {sorted(map(repr, expected))}")

    def code(self) -> list[str]:
        return [f"print(list(kb.query({self._text!r}, mode={self.mode!r})))"]

    def _ask(self, kb: KnowledgeBase) -> Any:
        with warnings.catch_warnings():  # of predicates that nothing mentions
            warnings.simplefilter("ignore")
            return kb.query(self._text, mode=self.mode)

    def _refusals(self, machine: Machine, expected: set[Any]) -> set[str]:
        found = by_limits(machine.kb.limits, Truth({"answers": expected}, {}))
        if not machine.settings.discards_errors and machine.world.may_fail_to_answer(self.query):
            found.add(catalogue.FAILED_EXPRESSION.code)
        return found

    @property
    def _text(self) -> str:
        return ", ".join(map(print_element, self.query.body))

    def smaller(self) -> Iterator[Step]:
        for body in without_one(self.query.body):
            if body:
                yield replace(self, query=Query(body))


@dataclass(frozen=True)
class Read(Step):
    """Derives everything, or looks at the rules and their owners."""

    what: str = "materialise"

    def run(self, machine: Machine) -> None:
        machine.refusable(getattr(machine.kb, self.what), [machine.world])

    def code(self) -> list[str]:
        return [f"kb.{self.what}()"]


@dataclass(frozen=True)
class Limit(Step):
    """Other limits from now on."""

    limits: Limits

    def run(self, machine: Machine) -> None:
        machine.kb.limits = bounded(self.limits) if machine.grows else self.limits

    def code(self) -> list[str]:
        return [f"kb.limits = {self.limits!r}"]

    def smaller(self) -> Iterator[Step]:
        for name in ("seconds", "facts", "rounds"):
            if getattr(self.limits, name) is not None:
                yield Limit(replace(self.limits, **{name: None}))


# -- directories -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reopen(Step):
    """The directory is opened again, with other settings where some are given; without one a copy is saved and opened."""

    settings: tuple[tuple[str, Any], ...] = ()
    engine: str | None = None

    def run(self, machine: Machine) -> None:
        engine = self.engine or machine.engine
        if not machine.is_stored:
            copy = machine.folder / f"copy{machine.new_file('x').stem}"
            if machine.refusable(lambda: machine.kb.save(copy), [machine.world], [NOT_STORED]) is None:
                return
            machine.check_state(KnowledgeBase.open(copy, limits=Limits()), machine.world, "copy")
            return
        settings = dict(self.settings)
        if settings.pop("updates", True) is False:
            place = machine.place
            machine.refusable(lambda: KnowledgeBase.open(place, updates=False), [], [NOT_STORED], must=True)
        try:
            machine.reopen(settings, engine)
        except ProgramError as error:
            limits = settings.pop("limits", Limits())
            if error.diagnostics[0].code not in by_limits(limits, machine.world.truth):
                raise crash(error, "opening: ") from error
            machine.reopen(settings, engine)
            machine.kb.limits = limits

    def code(self) -> list[str]:
        more = "".join(f", {name}={value!r}" for name, value in self.settings)
        more += f", engine={self.engine!r}" if self.engine is not None else ""
        return [f"kb = KnowledgeBase.open(place{more})  # where kb is in a directory; a copy otherwise"]

    def smaller(self) -> Iterator[Step]:
        for settings in without_one(self.settings):
            yield replace(self, settings=settings)
        if self.engine is not None:
            yield replace(self, engine=None)


@dataclass(frozen=True)
class Care(Step):
    """What a directory offers beside transactions: compact, vacuum, verify, an old version, a difference, a change file."""

    what: str
    number: int = 0

    def run(self, machine: Machine) -> None:
        if not machine.is_stored:
            return
        with machine.without_limits():
            self._care(machine)

    def _care(self, machine: Machine) -> None:
        kb = machine.kb
        old = sorted(machine.versions)[self.number % len(machine.versions)]
        if self.what == "compact":
            version = kb.version or 0
            is_done = machine.refusable(kb.compact, []) is not None
            if kb.version != version + is_done:
                raise Difference("version", f"compact led from version {version} to {kb.version}")
            machine.versions[kb.version or 0] = machine.world
        elif self.what == "vacuum":
            kb.vacuum(keep=2)
            kept = sorted(info.version for info in kb.history())[-2:]
            machine.versions = {version: world for version, world in machine.versions.items() if version in kept}
        elif self.what == "verify":
            machine.check_store()
        elif self.what == "old":
            with KnowledgeBase.open(machine.place, version=old, limits=Limits()) as opened:
                machine.check_state(opened, machine.versions[old], "old version")
        elif self.what == "changes":
            self._replay(machine, old)

    def _replay(self, machine: Machine, old: int) -> None:
        """A copy of an old version becomes this one by a file of changes."""
        if old == machine.kb.version:
            return
        copy = machine.folder / f"copy{machine.new_file('x').stem}"
        with KnowledgeBase.open(machine.place, version=old, limits=Limits()) as opened:
            opened.save(copy)
        path = machine.kb.changes(machine.new_file("changes"), since=old)
        with KnowledgeBase.open(copy, limits=Limits()) as other:
            other.apply(path)
            machine.check_state(other, machine.world, "changes since an old version")

    def code(self) -> list[str]:
        return {
            "compact": ["kb.compact()"],
            "vacuum": ["kb.vacuum(keep=2)"],
            "verify": ["print(KnowledgeBase.verify(place))"],
            "old": [f"KnowledgeBase.open(place, version={self.number})  # one of the old versions"],
            "changes": ["kb.changes(place + '.changes', since=1)"],
        }[self.what]


@dataclass(frozen=True)
class Follow(Step):
    """Begins a feed or a publication of all predicates, or goes on with one that was left when the directory was opened again."""

    what: str = "feed"

    def run(self, machine: Machine) -> None:
        if (machine.feed if self.what == "feed" else machine.published) is not None:
            return
        left = machine.left.get(self.what)
        if left is None and not machine.fed:
            machine.fed = frozenset({*machine.world.truth.visible, *machine.world.explicit()})
        path = left or machine.new_file(self.what)
        if machine.is_lazy and machine.refusable(machine.kb.materialise, [machine.world]) is None:
            return
        with machine.without_limits():
            done = machine.refusable(lambda: self._begin(machine.kb, path, sorted(machine.fed)), [])
        if done is None:
            machine.left[self.what] = path
        elif self.what == "feed":
            machine.feed = path
        else:
            machine.published = path

    def _begin(self, kb: KnowledgeBase, path: Path, names: list[str]) -> None:
        if self.what == "feed":
            kb.feed(path, names, snapshot=True)
        else:
            kb.publish(path, names)

    def code(self) -> list[str]:
        more = ", snapshot=True" if self.what == "feed" else ""
        return [f"kb.{self.what}(place + '.{self.what}', kb.predicates(){more})"]


@dataclass(frozen=True)
class Compare(Step):
    """A query that the generator does not draw gives the answers that it gives where everything is derived for it alone."""

    text: str
    mode: str | None = None

    def run(self, machine: Machine) -> None:
        world = machine.world
        found = machine.refusable(lambda: self._ask(machine.kb, self.mode), [world], CATALOGUE)
        if found is None:
            return
        settings = replace(world.settings, limits=Limits(facts=20_000), strategy="auto", updates=False, index="auto")
        try:
            rows = self._constants(found)
            wanted = self._constants(self._ask(KnowledgeBase(world.program, settings=settings), "materialise"))
        except ProgramError:
            return  # rules that have no end and do not feed the query, or a mistake in a world that was never derived
        if len(rows) != len(set(rows)) or set(rows) != set(wanted):
            raise Difference("compared", f"{sorted(map(repr, rows))}, and not {sorted(map(repr, wanted))}")

    def _ask(self, kb: KnowledgeBase, mode: str | None) -> Any:
        with warnings.catch_warnings():  # of predicates that nothing mentions
            warnings.simplefilter("ignore")
            return kb.query(self.text, mode=mode)

    @staticmethod
    def _constants(found: Any) -> list[tuple[Constant, ...]]:
        return [tuple(map(Constant, row)) for row in found.constants()]

    def code(self) -> list[str]:
        return [f"print(list(kb.query({self.text!r}, mode={self.mode!r})))"]
