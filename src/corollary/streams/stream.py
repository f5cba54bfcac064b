"""A stream of updates into a knowledge base: one result for each, with look-ahead at the next update."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.streams.results import Positions, RejectedUpdate, StreamResult, StreamStatistics, UpdateStatistics
from corollary.streams.sources import UpdateSource
from corollary.streams.target import Target
from corollary.streams.updates import Arrived
from corollary.transactions import Facts

if TYPE_CHECKING:
    from corollary.engines.embedded.marking.region import Upcoming

POLICIES = ("reject", "fail")
LARGEST_UPDATE = 1_000_000  # facts
# Failures that are not caused by the update: a directory changed by others or full, and results that cannot be written.
_NO_MISTAKES = {
    kind.code
    for kind in (
        catalogue.STORE_CONFLICT,
        catalogue.DAMAGED_STORE,
        catalogue.UNWRITABLE_STORE,
        catalogue.NOT_PUBLISHED,
        catalogue.UNWRITABLE_FILE,
    )
}
_KEPT_REJECTS = 10_000


class Stream(Iterator[StreamResult]):
    """An iterator that applies one update after the other. Only the next update is read ahead, and only if it has arrived.

    `statistics` has the totals so far, `rejects` the first 10,000 rejected updates, `waiting` the number of known updates
    that wait.
    """

    def __init__(
        self,
        target: Target,
        source: UpdateSource,
        policy: str = "reject",
        log: str | PathLike[str] | None = None,
        positions: Positions | None = None,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"the policy is 'reject' or 'fail', not '{policy}'")
        self._target = target
        self._source = source
        self._positions = positions
        self._fails = policy == "fail"
        self._log = (  # closed with the stream; JSON may escape half a surrogate pair
            open(log, "a", encoding="utf-8", errors="backslashreplace") if log is not None else None  # noqa: SIM115
        )
        self._ahead: Arrived | None = None
        self._is_over = False
        self.statistics = StreamStatistics()
        self.rejects: list[RejectedUpdate] = []

    @property
    def waiting(self) -> int:
        return self._source.waiting + (self._ahead is not None)

    @property
    def has_next(self) -> bool:
        """Return whether the next update has already been taken from the source."""
        return self._ahead is not None

    def __next__(self) -> StreamResult:
        if self._is_over:
            raise StopIteration
        update, self._ahead = self._ahead or self._source.take(), None
        if update is None:
            self.close()
            raise StopIteration
        return self.process(update)

    def process(self, update: Arrived) -> StreamResult:
        """Apply an update and return its result.

        An interrupt leaves the knowledge base as it was before the update, or after it with its position and statistics.
        """
        with self._target.operation():
            return self._process(update)

    def _process(self, update: Arrived) -> StreamResult:
        if update.failure is not None:
            self.close()
            raise update.failure
        number, started = self.statistics.updates + 1, time.perf_counter()
        try:
            with self._committing(update):
                result, statistics = self._target.apply(update, self._look_for(update))
        except ProgramError as error:
            if any(diagnostic.code in _NO_MISTAKES for diagnostic in error.diagnostics):
                self.close()
                raise
            return self._reject(number, update, error, time.perf_counter() - started)
        except BaseException:
            self.close()
            raise
        self._note_committed(update)
        statistics.seconds = time.perf_counter() - started
        self.statistics.count(statistics, rejected=False)
        return StreamResult(number, update.place, result.inserted, result.deleted, statistics, result.report)

    def _committing(self, update: Arrived) -> AbstractContextManager[None]:
        return self._positions.committing(update.position) if self._positions is not None else nullcontext()

    def _note_committed(self, update: Arrived) -> None:
        if hasattr(self._source, "committed"):
            self._source.committed(update.position)

    def _look_for(self, update: Arrived) -> _Look:
        return _Look(self, may_look=not update.changes_rules)

    def look(self) -> Upcoming | None:
        """Return the next update, if it has arrived."""
        if self._ahead is None:
            self._ahead = self._source.take_now()
        if self._ahead is None or self._ahead.failure is not None:
            return None
        return self._target.upcoming(self._ahead)

    def _reject(self, number: int, update: Arrived, error: ProgramError, seconds: float) -> StreamResult:
        diagnostics = tuple(_at(update.place, diagnostic) for diagnostic in error.diagnostics)
        if self._fails:
            self.close()
            raise ProgramError(diagnostics) from error
        rejected = RejectedUpdate(number, update.place, diagnostics, update.text)
        if len(self.rejects) < _KEPT_REJECTS:
            self.rejects.append(rejected)
        if self._log is not None:
            self._log.write(json.dumps(rejected.as_dict(), ensure_ascii=False) + "\n")
            self._log.flush()
        if self._positions is not None:
            self._positions.pass_over(update.position)
        self._note_committed(update)
        statistics = UpdateStatistics(seconds=seconds)
        self.statistics.count(statistics, rejected=True)
        target = self._target
        nothing = Facts({}, lambda name, _: target.no_facts(name), target.kb.full_name, target.no_facts)
        return StreamResult(number, update.place, nothing, nothing, statistics, None, rejected)

    def close(self) -> None:
        """End the stream: waiting updates stay in the source, and applied updates stay applied."""
        if not self._is_over:
            self._is_over = True
            self._source.close()
            self._target.close()
            if self._log is not None:
                self._log.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _at(place: str, diagnostic: Diagnostic) -> Diagnostic:
    """Return the diagnostic with the place of the update in its message."""
    if diagnostic.message.startswith(place):
        return diagnostic
    return replace(diagnostic, message=f"{place}: {diagnostic.message}")


class _Look:
    """The look-ahead: asks the source for the next update until there is one."""

    def __init__(self, stream: Stream, *, may_look: bool) -> None:
        self._stream = stream
        self._may_look = may_look
        self._found: Upcoming | None = None

    def __call__(self) -> Upcoming | None:
        if self._found is None and self._may_look:
            self._found = self._stream.look()
        return self._found
