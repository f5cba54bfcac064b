"""A script: settings, a program and steps. It runs, writes itself as Python, and shrinks while it still shows a difference."""

from __future__ import annotations

import re
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from corollary.language import print_program
from corollary.program import Clause
from corollary.settings import Settings
from tests.fuzz.machine import Difference, Machine, crash, small_counts_as_large
from tests.fuzz.steps import Step, smaller_rules, text_of, without_one
from tests.fuzz.world import GROWING, World
from tests.generator import Fact, program_of

_LONGEST = 100  # seconds of one script, in which kernels may have to be compiled; most take less than one
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # this is about contents, not about disks


@dataclass
class Tally:
    """How much was run."""

    scripts: int = 0
    steps: int = 0
    refused: int = 0
    differences: int = 0
    ignored: int = 0

    def __str__(self) -> str:
        found = f"{self.differences or 'no'} differences" + (f" and {self.ignored} known ones" if self.ignored else "")
        return f"{self.scripts:,} scripts, {self.steps:,} steps ({self.refused:,} operations were refused), {found}"


@dataclass(frozen=True)
class Script:
    facts: tuple[Fact, ...]
    clauses: tuple[Clause, ...]
    settings: tuple[tuple[str, Any], ...]
    steps: tuple[Step, ...]
    is_stored: bool = False
    engine: str = "embedded"
    spark_settings: tuple[tuple[str, int], ...] = ()
    is_small: bool = False
    """Whether small changes are followed as large ones are."""

    def run(self, tally: Tally | None = None) -> None:
        """Raises `Difference` at the first step after which something is not what the model says, or that does not end."""
        with _alarm(_LONGEST):
            self._run(tally or Tally())

    def _run(self, tally: Tally) -> None:
        world = World.of(self.facts, self.clauses, Settings.of(**dict(self.settings)))
        if world.truth.wrong:
            return
        with (
            small_counts_as_large() if self.is_small else nullcontext(),
            tempfile.TemporaryDirectory(dir=IN_MEMORY, prefix="fuzz") as folder,
        ):
            machine = Machine(
                world,
                Path(folder),
                is_stored=self.is_stored,
                grows=self._grows,
                engine=self.engine,
                spark_settings=dict(self.spark_settings),
            )
            try:
                machine.check()
                for number, step in enumerate(self.steps):
                    try:
                        step.run(machine)
                        machine.check()
                    except Difference as difference:
                        difference.step = number
                        raise
                    except Exception as error:
                        raise crash(error, f"{type(step).__name__}: ", number) from error
                if not machine.is_lazy:
                    machine.check_store()
            finally:
                machine.kb.close()
                tally.scripts += 1
                tally.steps += machine.steps
                tally.refused += machine.refused

    @property
    def _grows(self) -> bool:
        """Whether some rule may derive without an end."""
        return re.search(rf"\b({'|'.join(sorted(GROWING))})\(", " ".join(self._written())) is not None

    def _written(self) -> Iterator[str]:
        yield from map(text_of, self.clauses)
        for step in self.steps:
            yield from step.code()

    def difference(self) -> Difference | None:
        try:
            self.run()
        except Difference as difference:
            return difference
        return None

    # -- shown -------------------------------------------------------------------------------------------------------

    def code(self, ending: str = "") -> str:
        """Python that does the same; the last comment says what was found instead of what should be."""
        program = print_program(program_of(self.facts, self.clauses)).replace("\\", "\\\\").rstrip()
        settings = "".join(f", {name}={value!r}" for name, value in self.settings)
        if self.engine != "embedded":
            settings += f", engine={self.engine!r}, spark_settings=SparkSettings(**{dict(self.spark_settings)!r})"
        lines = [
            "import tempfile",
            "from decimal import Decimal",
            "from corollary import Change, Iri, KnowledgeBase, Limits, Literal, ProgramError",
            "from corollary.program import Structure",
            "inf, nan = float('inf'), float('nan')",
            *(["from corollary.engines.spark.context import SparkSettings"] if self.engine != "embedded" else []),
        ]
        if self.is_small:
            lines += [
                "from corollary.engines.embedded.maintenance import changing_facts",
                "from corollary.reasoning.maintain import chooser",
                "chooser._AT_LEAST = changing_facts._MANY = 0",
            ]
        lines += ["", 'program = r"""' if "\\" in program else 'program = """', program, '"""']
        lines.append("place = tempfile.mkdtemp() + '/kb'")
        if self.is_stored:
            lines.append(f"kb = KnowledgeBase.create(place, program{settings})")
        else:
            lines.append(f"kb = KnowledgeBase(program{settings})")
        for step in self.steps:
            lines += step.code()
        lines.append("print({name: sorted(kb.facts(name), key=repr) for name in kb.predicates()})")
        lines += [f"# {line}" for line in ending.splitlines()]
        return "\n".join(lines) + "\n"

    # -- smaller -----------------------------------------------------------------------------------------------------

    def shrunk(self, seconds: float = 60.0) -> tuple[Script, Difference] | None:
        """The smallest script found in that time that differs in the same way; None where this one does not differ again."""
        found = self.difference()
        if found is None:
            return None
        until = time.monotonic() + seconds
        best, kind = replace(self, steps=self.steps[: found.step + 1]), found.kind
        again = best.difference()
        if again is None or again.kind != kind:
            best = self
        is_smaller = True
        while is_smaller and time.monotonic() < until:
            is_smaller = False
            for make in (_fewer_steps, _fewer_clauses, _fewer_facts, _fewer_settings, _smaller_steps, _smaller_clauses):
                best, found, has_shrunk = _greedy(best, found, kind, make, until)
                is_smaller |= has_shrunk
        return best, found


class _OracleTooSlow(BaseException):
    """A program that the oracle takes too long for: it says nothing about Corollary."""


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raises `Difference` in the block when it takes too long; kernels that never end are left to whoever watches the process."""

    def ring(number: int, frame: FrameType | None) -> None:
        stack = "".join(traceback.format_stack(frame))
        if "truth_of" in stack:
            raise _OracleTooSlow
        raise Difference("endless", f"a script took more than {seconds} s, here: {stack[-1_000:]}")

    before = signal.signal(signal.SIGPROF, ring)
    # By processor time, and again and again: what a callback of Python's own raises is lost.
    signal.setitimer(signal.ITIMER_PROF, seconds, 5)
    try:
        yield
    except _OracleTooSlow:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _greedy(
    best: Script, found: Difference, kind: str, make: Callable[[Script], Iterator[Script]], until: float
) -> tuple[Script, Difference, bool]:
    has_shrunk, goes_on = False, True
    while goes_on:
        goes_on = False
        for candidate in make(best):
            if time.monotonic() > until:
                return best, found, has_shrunk
            difference = candidate.difference()
            if difference is not None and difference.kind == kind:
                best, found, has_shrunk, goes_on = candidate, difference, True, True
                break
    return best, found, has_shrunk


def _fewer_steps(script: Script) -> Iterator[Script]:
    for steps in without_one(script.steps):
        yield replace(script, steps=steps)


def _fewer_clauses(script: Script) -> Iterator[Script]:
    for clauses in without_one(script.clauses):
        yield replace(script, clauses=clauses)


def _fewer_facts(script: Script) -> Iterator[Script]:
    for facts in without_one(script.facts):
        yield replace(script, facts=facts)


def _fewer_settings(script: Script) -> Iterator[Script]:
    for settings in without_one(script.settings):
        yield replace(script, settings=settings)
    if script.is_stored:
        yield replace(script, is_stored=False)
    if script.is_small:
        yield replace(script, is_small=False)
    for spark_settings in without_one(script.spark_settings):
        yield replace(script, spark_settings=spark_settings)
    if script.engine != "embedded":
        yield replace(script, engine="embedded")


def _smaller_steps(script: Script) -> Iterator[Script]:
    for number, step in enumerate(script.steps):
        for less in step.smaller():
            yield replace(script, steps=(*script.steps[:number], less, *script.steps[number + 1 :]))


def _smaller_clauses(script: Script) -> Iterator[Script]:
    for clauses in smaller_rules(script.clauses):
        yield replace(script, clauses=clauses)
