"""The contract between reasoning and an engine: everything that following a change needs from an engine.

`reasoning.maintain` decides which steps a change affects, in which order and by which algorithm they follow it, and
what becomes of support. An engine stores the facts, and within one transaction at a time it can

- **derive**: run rules over versions of the facts (`planning.deltas`), and count the instances of each head;
- **probe**: tell which of some facts are visible, which of them others support, and how much has changed;
- **support**: let an owner support facts more or less often, hand its support over to an heir, or withdraw it;
- **mark** sets of facts while one step is followed, and **settle** how changes of support change visible facts;
- **run a job**: derive a whole step at once, in whatever way is fastest;
- **commit** and **roll back**.

`ChangingFacts` is about all steps, `StepFacts` about one recursive step. How an engine represents facts is up to the
engine (`Rows`: row numbers, or data frames). Sets of facts are mappings from predicates to rows; predicates without a
row are missing, so that an empty set is false. Rules derive `Heads`, which know how many rule instances derived each
fact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from corollary.analysis import RuleGraph
    from corollary.planning import NormalRule
    from corollary.program import Atom
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.maintain.recompute import Direction
    from corollary.reasoning.maintain.report import Outcome
    from corollary.reasoning.maintain.rule_change import ChangedSteps
    from corollary.reasoning.maintain.step_rules import Delta, GroupRules, StepRules
    from corollary.reasoning.maintain.transaction import Task
    from corollary.reasoning.run import Run

Rows = TypeVar("Rows")
Heads = TypeVar("Heads")
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

EXPLICIT = "explicit"
"""The owner of explicit facts."""


class OverBudget(Exception):
    """Raised when following a change has become more expensive than recomputing; the text, if any, is the reason."""


class TryAgain(Exception):
    """Raised when a transaction was rolled back to store the facts in another form; it is done, and the transaction can
    run again."""


class ChangeJournal(Protocol):
    """A journal that records every change of an engine before it takes effect, as a store does. It is passed with each
    change."""

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing left to prepare."""
        ...

    def prepare(self, run: Run) -> None:
        """Prepare for the first change; if it raises, nothing changes, and the next change prepares again."""
        ...

    def commit(self, changes: Any) -> None:
        """Record a transaction that is computed and not yet visible; if it raises, the transaction is rolled back.

        `changes` are the changes of support, in the form of the engine.
        """
        ...


# -- all steps of a program --------------------------------------------------------------------------------------------


class MaintainedStep(Protocol):
    """The rules that are maintained together, with their heads: those of a hyper-node, or of an auxiliary predicate."""

    @property
    def identity(self) -> Hashable:
        """A key that is equal for equal steps, even from different graphs."""
        ...

    @property
    def owner(self) -> str:
        """The name under which the step supports facts."""
        ...

    @property
    def node(self) -> str:
        """The name of the step's hyper-node."""
        ...

    @property
    def heads(self) -> dict[str, int]: ...

    @property
    def inputs(self) -> Set[str]: ...

    @property
    def recursive(self) -> bool: ...

    @property
    def alternates(self) -> bool:
        """Whether the rules alternate between true and possible facts."""
        ...

    @property
    def own_rules(self) -> tuple[NormalRule, ...]:
        """The rules that derive its facts; none for an aggregation."""
        ...

    @property
    def following_rules(self) -> tuple[NormalRule, ...]:
        """Its own rules in the form used to follow changes."""
        ...

    @property
    def rules(self) -> StepRules:
        """The rules in every form that maintenance needs; those of an aggregation find the groups that change."""
        ...

    @property
    def groups(self) -> GroupRules | None:
        """The rules of an aggregation, None for other steps."""
        ...

    @property
    def stated(self) -> Mapping[str, Atom]:
        """The predicates of explicit facts that the rules read, each with an atom that selects its facts."""
        ...


StepT = TypeVar("StepT", bound=MaintainedStep)


@dataclass(frozen=True)
class Signed:
    """A rule to run; its heads, times `sign`, are added to those of other rules with the same key: an owner and a
    predicate.

    `brings` is true if its instances are those that are new after the transaction.
    """

    key: tuple[str, str]
    rule: NormalRule
    sign: int = 1
    brings: bool = False


class SupportKeeper(Protocol):
    """The support of facts in a transaction, as rule changes need it."""

    def starts_over(self, step: Any) -> bool:
        """Return whether a removed step has no support to hand over, so that its heir starts without any."""
        ...

    def hand_over(self, predicate: str, arity: int, owners: Sequence[str], heir: str, *, counts: bool) -> None:
        """Transfer support to an heir as if it had always been the heir's; no fact loses its support by that.

        If the heir `counts`, it supports each fact as often as the owners did, otherwise once.
        """
        ...

    def withdraw(self, predicate: str, arity: int, owner: str) -> None:
        """Remove all support of an owner, whose step is removed, from the facts of a predicate."""
        ...


class ChangingFacts(SupportKeeper, Protocol):
    """The facts of an engine, which change in one transaction at a time."""

    runs_together: bool
    """Whether independent steps cost less when they run at once."""

    def steps(self, graph: RuleGraph, strategy: Strategy, known: Sequence[Any]) -> Sequence[Any]:
        """Return the steps of a program in order; steps that are already `known` stay the same objects."""
        ...

    # -- a transaction ---------------------------------------------------------------------------------------------------

    def transaction(self, run: Run, steps: Sequence[Any], strategy: Strategy) -> AbstractContextManager[None]:
        """Return the context of one transaction, with the steps before it; an exception inside rolls everything back.

        Raise `TryAgain` if it was rolled back to store facts in another form.
        """
        ...

    def leave(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Prepare for a change of rules, and with them of steps."""
        ...

    def change_explicit(self, change: Any) -> tuple[int, int]:
        """Delete and insert explicit facts; facts in both are inserted. Return how many were really deleted and inserted."""
        ...

    def begin_steps(self, steps: Sequence[Any], change: ChangedSteps) -> None:
        """Begin to follow the changes of explicit facts and rules with these steps."""
        ...

    def finished(self, step: Any) -> None:
        """Note that a step has followed the changes, or that none has reached it."""
        ...

    def settle(self) -> None:
        """Find which facts have become visible or hidden through the changes of support so far."""
        ...

    def check(self) -> None:
        """Raise at a limit or an interrupt of the run."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """Add the visible facts that were deleted and inserted to the outcome."""
        ...

    def commit(self) -> None: ...

    # -- changes so far --------------------------------------------------------------------------------------------

    def has_changed(self, predicate: str) -> bool:
        """Return whether a visible fact was deleted or inserted."""
        ...

    def has_lost(self, predicate: str, arity: int) -> bool:
        """Return whether an owner has stopped supporting a fact; recursive steps must know that even if others support it."""
        ...

    def gone(self, predicate: str, arity: int) -> Any:
        """Return the facts that have lost their last support by counting since `settle`; None if there are none."""
        ...

    def point(self, step: Any) -> Any:
        """Return a position in the changes of a step's heads, for `changes_since`."""
        ...

    def changes_since(self, step: Any, point: Any) -> tuple[int, int]:
        """Return how many facts of its heads a step has deleted and inserted since a point."""
        ...

    @property
    def instances(self) -> int:
        """How many rule instances have been tried so far; 0 if the engine does not count them."""
        ...

    # -- following changes -----------------------------------------------------------------------------------------

    def begin(self, tasks: Sequence[Task]) -> None:
        """Prepare for these tasks, which are next."""
        ...

    def follows(self, task: Task) -> bool:
        """Return True if the engine stores the facts of a step in its own form, such as a closure, and has followed the
        change."""
        ...

    def derive(self, wanted: Sequence[Signed]) -> Mapping[tuple[str, str], Any]:
        """Return the sums of derived heads, by key; rules without changed facts and keys without a head are left out."""
        ...

    def change_support(self, predicate: str, owner: str, change: Any, *, counted: bool) -> None:
        """Let an owner support facts more or less often, given sums of heads."""
        ...

    def explicit_change(self, predicate: str, arity: int) -> Any:
        """Return which explicit facts were deleted and inserted so far, as sums of heads."""
        ...

    def explicit_facts(self, predicate: str, arity: int) -> Any:
        """Return all explicit facts of a predicate, as sums of heads."""
        ...

    def ask_about(self, predicate: str, facts: Any) -> None:
        """Make these heads the CHANGING facts of their predicate."""
        ...

    def derivable(self, steps: Sequence[Any], predicate: str, facts: Any) -> Mapping[str, Any]:
        """Return the facts that finished steps derive without supporting them, by owner."""
        ...

    def support_once(self, predicate: str, owner: str, facts: Any) -> None:
        """Let an owner support facts that it did not support before, once."""
        ...

    def owned_only_by(self, predicate: str, arity: int, owner: str, other: str) -> Any:
        """Return the facts that one owner supports and the other does not."""
        ...

    def facts(self, task: Task, *, counts: bool = False, most: int | None = None) -> StepFacts[Any, Any]:
        """Return the facts of a recursive step; a deletion raises `OverBudget` if it takes more than `most`, in the
        engine's own measure."""
        ...

    def give_up(self, task: Task) -> None:
        """Discard the unfinished work on a recursive step."""
        ...

    def form_of(self, step: Any) -> str:
        """Return the name of the form in which the facts of a step are stored; empty if they are stored one by one."""
        ...

    def is_small(self, step: Any) -> bool:
        """Return whether deriving a step takes no longer than starting to follow a change; asked only if steps run together."""
        ...

    def gains_by_a_job(self, steps: Sequence[Any]) -> bool:
        """Return whether deriving small steps together is better than following; asked only if steps run together."""
        ...

    def check_values(self, tasks: Sequence[Task]) -> None:
        """Raise if an expression of a new instance has no value, and the settings make that an error."""
        ...

    def describe(self, task: Task) -> None:
        """Add to a report what following the change cost in this engine."""
        ...

    # -- deriving steps again (`reasoning.maintain.recompute`) ---------------------------------------------------------------

    def derive_in_place(self, tasks: Sequence[Task]) -> None:
        """Derive steps, in order, from their inputs and from the support of others for their heads; the result becomes
        their support."""
        ...

    def recount(self, step: Any) -> None:
        """Make the support of a step the number of its rule instances."""
        ...

    def beside(self, step: Any) -> FactsBeside | None:
        """Return an object that derives a step beside the existing facts; None if that is not possible."""
        ...


class FactsBeside(Protocol):
    """Derivation beside the existing facts, which the result replaces when the transaction ends."""

    def derive_beside(self, task: Task, direction: Direction, *, most: int | None = None) -> None:
        """Derive a step; raise `OverBudget`, with nothing changed, if that takes more than `most` rule instances."""
        ...

    def can_go_on(self, step: Any) -> bool:
        """Return whether deriving a step can start from existing facts, and can stop before it is done."""
        ...

    def go_on_beside(self, task: Task, last: Any, direction: Direction) -> None:
        """Derive what follows from the facts that a step has found last."""
        ...

    def was_closed(self, predicates: Mapping[str, int]) -> bool:
        """Return whether one of the predicates was stored as a closure, by a step that is removed."""
        ...

    def has_changed(self, predicate: str) -> bool:
        """Return whether a visible fact was deleted or inserted."""
        ...

    def change_of(self, predicate: str, arity: int) -> tuple[int, int, int]:
        """Return how many visible facts were deleted and inserted, and how many of the old ones are left."""
        ...

    def direction_of(self, predicate: str, arity: int) -> Direction:
        """Return whether a predicate may so far have lost facts or support, and whether it may have gained facts."""
        ...


class DerivedFacts(Protocol):
    """The facts of an engine that derives everything again to follow a change."""

    def derived(self) -> Any:
        """Return all derived facts, to be passed to `compare` or `put_back`."""
        ...

    def derive_after(self, change: Any, graph: RuleGraph, run: Run, outcome: Outcome) -> None:
        """Change explicit facts, add their numbers to the outcome, and derive everything again with these rules."""
        ...

    def compare(self, before: Any, change: Any, outcome: Outcome) -> None:
        """Add the visible facts that were deleted and inserted since `derived` to the outcome."""
        ...

    def put_back(self, before: Any) -> None:
        """Restore everything to the state at `derived`."""
        ...


# -- one recursive step ------------------------------------------------------------------------------------------------


class Mark(Enum):
    """Sets of facts that an engine keeps while it maintains one step."""

    CHECKED = auto()
    """Facts that were checked for a proof."""
    KNOWN = auto()
    """Facts that were proved."""


class StepFacts(Protocol[Rows, Heads]):
    """The facts of one step in one transaction. `finish` ends the work on them; until then, the step can be given up."""

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(self, deltas: Iterable[Delta], new: Iterable[NormalRule] = ()) -> Mapping[str, Heads]:
        """Return the heads of rules whose trigger has facts, and of all instances of `new` rules over the settled facts
        after the transaction."""
        ...

    def rows(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """Return those of the derived facts that are known: visible now, or before the transaction."""
        ...

    def arrays(self, facts: Mapping[str, Rows]) -> dict[str, Array]:
        """Return the facts as rows of the numbers that stand for constants."""
        ...

    def heads(self, arrays: Mapping[str, Array]) -> Mapping[str, Heads]:
        """Return facts of the step, given as such rows, as if rules had derived them; rows may repeat."""
        ...

    # -- rounds ------------------------------------------------------------------------------------------------------

    def trying(self) -> AbstractContextManager[None]:
        """Return a context in which a deletion raises `OverBudget` when it reaches too much to be worth following."""
        ...

    def begin_rounds(self, *, grows: bool = False) -> None:
        """Begin a new phase of rounds; if the step only `grows` from now on, none of its facts will be deleted any more."""
        ...

    def next_round(self) -> None:
        """Begin the next round of the phase, and raise at a limit."""
        ...

    def check(self) -> None:
        """Raise at a limit or an interrupt of the run."""
        ...

    @property
    def visible_size(self) -> int:
        """How many facts of the step are visible."""
        ...

    # -- sets --------------------------------------------------------------------------------------------------------

    def size(self, facts: Mapping[str, Rows]) -> int: ...

    def union(self, facts: Mapping[str, Rows], others: Mapping[str, Rows]) -> dict[str, Rows]: ...

    def disjoint_union(self, parts: Sequence[Mapping[str, Rows]]) -> dict[str, Rows]: ...

    def difference(self, facts: Mapping[str, Rows], others: Mapping[str, Rows]) -> dict[str, Rows]: ...

    def mark(self, facts: Mapping[str, Rows], mark: Mark) -> None: ...

    def unmark(self, facts: Mapping[str, Rows], mark: Mark) -> None: ...

    def having(self, facts: Mapping[str, Rows], mark: Mark) -> dict[str, Rows]: ...

    def without(self, facts: Mapping[str, Rows], *marks: Mark) -> dict[str, Rows]: ...

    def ask_about(self, facts: Mapping[str, Rows]) -> None:
        """Make these facts CHANGING, without any other effect."""
        ...

    # -- deletion --------------------------------------------------------------------------------------------------

    def note_lost(self, heads: Mapping[str, Heads]) -> None:
        """Subtract lost instances from the counters of a step that counts."""
        ...

    def remove(self, rules: Sequence[NormalRule]) -> dict[str, Rows]:
        """Return what removed rules derived before the transaction, and subtract it from the counters of a step that counts."""
        ...

    def given_up(self) -> dict[str, Rows]:
        """Return the facts that other owners have stopped supporting; the step's own support for them may be circular."""
        ...

    def deletable(
        self, lost: Mapping[str, Rows], given_up: Mapping[str, Rows], *, stops_at_support: bool = True
    ) -> dict[str, Rows]:
        """Return the facts through which a deletion may continue: visible before, not reached yet, and without support
        by others.

        With `stops_at_support=False`, support is checked only for those that were given up. A step that does not count
        stops supporting facts that others support: it may have lost its last derivation of them.
        """
        ...

    def unsupported(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return the facts that no other owner supports or turns out to derive."""
        ...

    def reach(self, facts: Mapping[str, Rows]) -> None:
        """Overdelete these facts: they are CHANGING, and no longer part of UNTOUCHED."""
        ...

    def reached(self) -> dict[str, Rows]:
        """Return all facts that overdeletion has reached."""
        ...

    def spread(self, facts: Mapping[str, Rows]) -> None:
        """Note that overdeletion has followed these facts, which are no longer part of UNSPREAD."""
        ...

    def withdraw(self, facts: Mapping[str, Rows]) -> None:
        """Withdraw the step's support for these facts."""
        ...

    def hidden(self, facts: Mapping[str, Rows]) -> tuple[dict[str, Rows], dict[str, Rows]]:
        """Return the withdrawn facts that no owner supports or turns out to derive, and those that are still visible."""
        ...

    def restore(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """Support these hidden facts again, because the step derives them after all, and return them."""
        ...

    def restore_counted(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Support the overdeleted facts with counters above zero again, and return them."""
        ...

    def begin_proofs(self) -> None:
        """Begin with no proved facts: PROVED is empty."""
        ...

    def prove(self, facts: Mapping[str, Rows]) -> None:
        """Make these facts KNOWN and part of PROVED, and support them again if their support was withdrawn."""
        ...

    def visible(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return those of the facts that are visible at this point of the transaction."""
        ...

    # -- insertion -------------------------------------------------------------------------------------------------

    def born(self) -> dict[str, Rows]:
        """Return the facts of the step that are visible now and were not before the transaction."""
        ...

    def set_changing(self, facts: Mapping[str, Rows]) -> None:
        """Make these just inserted facts CHANGING; SETTLED leaves them out until the next call."""
        ...

    def add(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """Support derived facts, as often as derived if the step counts, and return those that were not visible before."""
        ...

    def finish(self) -> None:
        """End the step: forget its marks, and pass its changes of support to the transaction."""
        ...
