"""Runs a script of steps on a knowledge base and compares everything that can be seen with the model, after every step."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError, catalogue
from corollary.engines.embedded.maintenance import changing_facts, journal
from corollary.engines.embedded.marking import region
from corollary.engines.embedded.yield_index import index as yield_index
from corollary.io.formats import DELTA, file_name
from corollary.program import Constant
from corollary.reasoning import run as run_module
from corollary.reasoning.maintain import chooser, recursive_step
from corollary.reasoning.run import Run
from corollary.settings import SETTINGS, Limits, Settings
from corollary.store import store as store_module
from corollary.store import tables as tables_module
from corollary.transactions import TransactionResult
from tests.engine_suite.scripts import State, difference, minus, visible
from tests.fuzz.world import Truth, World, is_plain
from tests.oracle import Fact as ConstantFact

LIMIT, ERROR, DEPTH = (
    kind.code for kind in (catalogue.LIMIT_REACHED, catalogue.FAILED_EXPRESSION, catalogue.TERM_TOO_LARGE)
)
NOT_STORED = catalogue.NOT_STORED.code


class Difference(AssertionError):
    """Something is not what the model says. `kind` tells one sort of difference from another while a script shrinks."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.step = 0


@contextmanager
def small_counts_as_large() -> Iterator[None]:
    """Small changes are followed in the ways of large ones, small searches pause, and small stores fold, merge and rewrite."""
    with ExitStack() as stack:
        for module, name, value in (
            (chooser, "_AT_LEAST", 0),
            (changing_facts, "_MANY", 0),
            (recursive_step, "_FEW", 2),
            (recursive_step, "_PART", 1 << 40),
            (region, "BUDGET", 3),
            (yield_index, "_MOST_LOOKS", 5),
            (store_module, "_FOLD_VERSIONS", 3),
            (store_module, "_INLINE_ROWS", 3),
            (tables_module, "_LEAST_TO_REWRITE", 8),
            (journal, "_LEAST_LARGE", 4),
        ):
            stack.enter_context(patch.object(module, name, value))
        yield


@contextmanager
def crowded(at: int) -> Iterator[None]:
    """From the n-th look at it on, the process holds more memory than any limit allows."""
    count = 0

    def resident_megabytes() -> float:
        nonlocal count
        count += 1
        return 1e9 if count > at else 100.0

    with (
        patch.object(run_module, "resident_megabytes", resident_megabytes),
        patch.object(run_module, "_MEASURE_EVERY", 0.0),
    ):
        yield


@contextmanager
def interrupted(at: int) -> Iterator[None]:
    """The n-th check of a run that may be stopped acts as if Ctrl-C had been pressed before it."""
    usual, count = Run.check, 0

    def check(run: Run, facts: int | None = None) -> None:
        nonlocal count
        count += not run.is_sealed
        if count == at:
            count += 1
            raise KeyboardInterrupt
        usual(run, facts)

    with patch.object(Run, "check", check):
        yield


class Machine:
    """A knowledge base, the world that it should be in, and what its subscribers have heard since the last step."""

    def __init__(
        self,
        world: World,
        folder: Path,
        *,
        is_stored: bool,
        grows: bool,
        engine: str = "embedded",
        spark_settings: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        if grows:
            world = world.under(Settings.of(world.settings, limits=bounded(world.settings.limits)))
        self.world = world
        self.engine = engine
        self._spark_settings = spark_settings
        self.grows = grows
        self.folder = folder
        self.place = folder / "kb"
        self.versions: dict[int, World] = {}
        self.heard: list[tuple[str, set[ConstantFact], set[ConstantFact]]] = []
        self.feed: Path | None = None
        self.fed: frozenset[str] = frozenset()
        self.steps = 0
        self.refused = 0
        self.disturbance: Callable[[], AbstractContextManager[None]] = nullcontext
        """What happens to the operations of a step: an interrupt, or no memory."""
        self.published: Path | None = None
        self.left: dict[str, Path] = {}
        """The feed and the publication of a directory that nobody writes since it was opened again."""
        self._files = 0
        self.kb, self.is_stored = self._made(is_stored)
        if self.is_stored:
            self.versions[self.kb.version or 0] = world
        self.listen()

    def _made(self, is_stored: bool) -> tuple[KnowledgeBase, bool]:
        """The knowledge base, and whether it is in a directory. Where limits refuse it, they hold from its first change on."""
        world, settings, options = self.world, self.settings, self.engine_options(self.engine)
        if is_stored:
            made = self.refusable(
                lambda: KnowledgeBase.create(self.place, world.program, settings=settings, **options),
                [world],
                {NOT_STORED},
            )
            if made is not None:
                return made, True
        try:
            made = KnowledgeBase(world.program, settings=settings, **options)
        except ProgramError as error:
            if error.diagnostics[0].code not in by_limits(settings.limits, world.truth):
                raise crash(error, "making: ") from error
            made = KnowledgeBase(world.program, settings=replace(settings, limits=Limits()), **options)
            made.limits = settings.limits
        return made, False

    def engine_options(self, engine: str) -> dict[str, Any]:
        if engine == "embedded":
            return {}
        from corollary.engines.spark.context import SparkSettings
        from tests.services.spark_session import shared_session

        return {"engine": shared_session(), "spark_settings": SparkSettings(partitions=2, **self._spark_settings)}

    # -- what is there -----------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        return self.world.settings

    @property
    def is_lazy(self) -> bool:
        """Whether nothing was derived so far."""
        return not (self.kb._backend.is_started and self.kb._backend.is_materialised)

    def new_file(self, ending: str) -> Path:
        self._files += 1
        return self.folder / f"file{self._files}.{ending}"

    def listen(self) -> None:
        """Subscribes to every predicate that there is or will be."""
        self._subscribed: set[str] = set()
        self._listen_to(self.world)

    def _listen_to(self, *worlds: World) -> None:
        names = {name for world in worlds for name in (*world.truth.visible, *world.explicit())}
        for name in sorted(names - self._subscribed):
            self._subscribed.add(name)
            self.kb.subscribe(name, self._hear(name))

    def _hear(self, name: str) -> Callable[[Any, Any], None]:
        def hear(inserted: Any, deleted: Any) -> None:
            self.heard.append((name, _rows(inserted), _rows(deleted)))

        return hear

    # -- operations --------------------------------------------------------------------------------------------------

    def refusals(self, worlds: Iterable[World]) -> tuple[set[str], bool]:
        """The codes with which deriving these worlds may be refused, and whether it has to be."""
        may: set[str] = set()
        must = False
        limits = self.kb.limits if hasattr(self, "kb") else self.settings.limits
        for world in worlds:
            truth = world.truth
            may |= truth.wrong
            if truth.is_endless:
                may |= {LIMIT, DEPTH, ERROR}
            if truth.may_fail:
                may.add(ERROR)
            may |= by_limits(
                limits, truth, is_exact=is_plain(world.settings, world.program) and self.engine == "embedded"
            )
            must |= truth.is_endless or truth.must_fail
        return may, must

    def refusable(
        self, call: Callable[[], Any], worlds: Iterable[World], also: Iterable[str] = (), *, must: bool = False
    ) -> Any:
        """The result of a call that derives these worlds; None where it was refused with good reason."""
        worlds = list(worlds)
        may, has_to = self.refusals(worlds)
        try:
            with self.disturbance():
                result = call()
        except ProgramError as error:
            codes = {one.code for one in error.diagnostics}
            if not codes & (may | set(also)) and not must:
                raise Difference(f"refused {min(codes)}", f"and only {sorted(may)} would be right: {error}") from error
            self.refused += 1
            return None
        except KeyboardInterrupt:
            if self.disturbance is nullcontext:
                raise
            self.refused += 1
            return None
        except Difference:
            raise
        except Exception as error:
            raise crash(error) from error
        is_wrong = any(world.truth.wrong for world in worlds)
        if must or is_wrong or (has_to and not (hasattr(self, "kb") and self.is_lazy)):
            raise Difference("accepted", f"this had to be refused with one of {sorted(may)}")
        return result if result is not None else True

    def change(
        self,
        call: Callable[[], Any],
        after: World | None,
        also: Iterable[str] = (),
        *,
        must: bool = False,
        is_noted: bool = False,
    ) -> bool:
        """Runs a call that leads to a world, or is refused and leaves everything as it was; tells which.

        Where a refusal `is_noted` a version may say so, as the position of a stream that has a name.
        """
        before, version, was_lazy = self.world, self.kb.version, self.is_lazy
        worlds = [world for world in ((before if was_lazy else None), after) if world is not None]
        if after is not None:
            self._listen_to(before, after)
        self.heard = []
        result = self.refusable(call, worlds, also, must=must or after is None)
        if result is None:
            if self.heard:
                raise Difference("heard", f"subscribers were told of a change that was refused: {self.heard}")
            if self.kb.version != version and not (is_noted and self.kb.version == (version or 0) + 1):
                raise Difference("version", f"a refused change made version {self.kb.version} of {version}")
            if self.kb.version is not None:
                self.versions[self.kb.version] = before
            return False
        assert after is not None
        self.world = after
        self._check_version(version, before)
        if not self.is_lazy:
            self._check_heard(before, after, result)
        return True

    def _check_version(self, version: int | None, before: World) -> None:
        if version is None or self.kb.version is None:
            return
        is_same = self.world.facts.keys() == before.facts.keys() and self.world.clauses == before.clauses
        if self.kb.version not in ((version, version + 1) if is_same else (version + 1,)):
            raise Difference("version", f"one change led from version {version} to {self.kb.version}")
        self.versions[self.kb.version] = self.world

    def _check_heard(self, before: World, after: World, result: Any) -> None:
        came, gone = minus(after.truth.visible, before.truth.visible), minus(before.truth.visible, after.truth.visible)
        if isinstance(result, TransactionResult) or hasattr(result, "inserted"):
            told = difference(result)
            if told != (came, gone):
                raise Difference("difference", f"told {told}, and it is {(came, gone)}")
        names = [name for name, _, _ in self.heard]
        if len(names) != len(set(names)):
            raise Difference("heard", f"subscribers heard of one change in pieces: {self.heard}")
        heard = (
            {name: rows for name, rows, _ in self.heard if rows},
            {name: rows for name, _, rows in self.heard if rows},
        )
        if heard != (came, gone):
            raise Difference("heard", f"subscribers heard {heard}, and the difference is {(came, gone)}")

    # -- checks ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything that can be seen is what the model says."""
        self.steps += 1
        try:
            with self.without_limits():
                if not self.is_lazy:
                    self.check_state(self.kb, self.world)
                    self._check_explicit()
                    self._check_feed()
                    self._check_published()
                self.check_store()
        except Difference:
            raise
        except Exception as error:
            raise crash(error, "reading: ") from error

    @contextmanager
    def without_limits(self) -> Iterator[None]:
        limits, self.kb.limits = self.kb.limits, Limits()
        try:
            yield
        finally:
            self.kb.limits = limits

    def check_state(self, kb: KnowledgeBase, world: World, what: str = "state") -> None:
        truth = world.truth
        found = visible(kb)
        if found != truth.visible:
            more, less = minus(found, truth.visible), minus(truth.visible, found)
            raise Difference(what, f"too many {_shown(more)}, missing {_shown(less)}")
        if self.settings.semantics == "well-founded":
            names = set(kb.predicates())
            unknown = {name: rows for name in names if (rows := _rows(kb.undefined(name)))}
            if unknown != truth.undefined:
                raise Difference(what, f"undefined are {_shown(unknown)}, and not {_shown(truth.undefined)}")

    def _check_explicit(self) -> None:
        if self.settings.updates:
            wanted = self.world.explicit()
            for name in wanted:
                found = self.kb.owners(name).get("explicit", 0)
                if found != wanted[name]:
                    raise Difference("explicit", f"{name} has {found} explicit facts, and not {wanted[name]}")

    def check_store(self) -> None:
        """Whoever opens the directory sees the same, and everything in it follows from what is explicit."""
        if not self.is_stored:
            return
        limits = Limits()
        with KnowledgeBase.open(self.place, limits=limits) as opened:
            self.check_state(opened, self.world, "opened")
            if opened.version != self.kb.version:
                raise Difference("version", f"the directory has version {opened.version}, not {self.kb.version}")
        if found := KnowledgeBase.verify(self.place, limits=limits):
            raise Difference("verify", "; ".join(map(str, found)))

    # -- feeds -------------------------------------------------------------------------------------------------------

    def _check_feed(self) -> None:
        """The rows say what there is, and each change once."""
        if self.feed is None:
            return
        import polars

        from corollary.io.json_lines import value_of

        state: State = {}
        for _, predicate, op, values in sorted(polars.read_delta(str(self.feed)).rows(), key=lambda row: row[:3]):
            fact = tuple(Constant(value_of(value)) for value in json.loads(values, parse_float=_number))
            facts = state.setdefault(predicate, set())
            if (op == "insert") == (fact in facts):
                raise Difference("feed", f"the feed says {op} {predicate}{fact} twice")
            (facts.add if op == "insert" else facts.remove)(fact)
        self._check_written("feed", {name: facts for name, facts in state.items() if facts})

    def _check_published(self) -> None:
        """The tables have the facts that there are, whoever wrote them and however often."""
        if self.published is None:
            return
        state: State = {}
        for name in self.fed:
            scratch = KnowledgeBase()
            scratch.load("it", self.published / file_name(name, DELTA))
            rows = [tuple(map(Constant, row)) for row in scratch.facts("it").constants()]
            if name.endswith("0") and rows:  # no argument: a table has a column all the same
                rows = [()]
            if len(rows) != len(set(rows)):
                raise Difference("published", f"a fact of {name} is there twice")
            if rows:
                state[name] = set(rows)
        self._check_written("published", state)

    def _check_written(self, what: str, found: State) -> None:
        wanted = {name: facts for name, facts in self.world.truth.visible.items() if name in self.fed}
        if found != wanted:
            raise Difference(what, f"too many {_shown(minus(found, wanted))}, missing {_shown(minus(wanted, found))}")

    # -- other knowledge bases ---------------------------------------------------------------------------------------

    def reopen(self, changed: dict[str, Any], engine: str) -> None:
        if self.grows:
            changed["limits"] = bounded(changed.get("limits", Limits()))
        self.kb.close()
        self.kb = KnowledgeBase.open(self.place, **self.engine_options(engine), **changed)
        self.engine = engine
        self.world = self.world.under(Settings.of(_opened(self.settings), **changed))
        for kind, place in (("feed", self.feed), ("publish", self.published)):
            if place is not None:
                self.left[kind] = place
        self.feed = self.published = None
        self.listen()


def _opened(settings: Settings) -> Settings:
    """What a store keeps of settings; the others have their defaults."""
    return Settings.of(**{name: getattr(settings, name) for name in SETTINGS if SETTINGS[name].metadata["stored"]})


def crash(error: Exception, what: str = "", step: int = 0) -> Difference:
    """An exception that is no refusal, told apart by where it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "corollary" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    found = Difference(f"{what}{type(error).__name__} in {place}", "".join(traceback.format_exception(error)[-4:]))
    found.step = step
    return found


def bounded(limits: Limits) -> Limits:
    """Limits under which rules without an end stop."""
    return limits if limits.facts is not None else replace(limits, facts=2_000)


def by_limits(limits: Limits, truth: Truth, *, is_exact: bool = False) -> set[str]:
    """With which codes a limit may refuse a program that ends; unless it `is_exact`, more counts than can be seen in the end."""
    found = set()
    if limits.seconds is not None and limits.seconds < 10:
        found.add(LIMIT)
    if limits.rounds is not None and limits.rounds < 100:
        found.add(LIMIT)
    if limits.facts is not None and limits.facts < (truth.size if is_exact else 2 * truth.size + 50):
        found.add(LIMIT)
    if limits.memory is not None and limits.memory < 100_000:
        found.add(LIMIT)
    if limits.depth < 100:
        found.add(DEPTH)
    return found


def _rows(result: Any) -> set[ConstantFact]:
    return {tuple(map(Constant, row)) for row in result.constants()}


def _number(text: str) -> Any:
    from decimal import Decimal

    return float(text) if "e" in text or "E" in text else Decimal(text)


def _shown(state: State) -> str:
    shown = (
        f"{name}({', '.join(str(constant.value) for constant in row)})"
        for name, rows in sorted(state.items())
        for row in sorted(rows, key=repr)
    )
    return ", ".join(shown) or "nothing"
