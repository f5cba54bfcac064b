"""The contract between reasoning and an engine: everything that following a change asks of one.

`reasoning.maintain` decides which steps a change affects, in which order and by which algorithm they follow it, and what becomes
of support. An engine has the facts, and within one transaction at a time it can

- **derive**: run rules over versions of the facts (`planning.deltas`), and count the instances of each head;
- **probe**: tell which of some facts are visible, which of them others support, and how much has changed;
- **support**: let an owner support facts more or less often, hand its support over to an heir, or withdraw it;
- **mark** sets of facts while one step is followed, and **settle** what changes of support mean for visible facts;
- **run a job**: derive a whole step at once, in whatever way is fastest;
- **commit** and **roll back**.

`ChangingFacts` is about all steps, `StepFacts` about one recursive step. How an engine keeps facts is its own matter (`Rows`:
numbers of rows, or frames). Sets of facts are mappings from predicates to rows; predicates without a row are missing, so that an
empty set is false. What rules derive comes as `Heads`, which know by how many rule instances each fact was derived.
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
    """Raised when following a change has become more expensive than recomputing; the text, if any, says why."""


class TryAgain(Exception):
    """Raised when a transaction was given up because the facts had to be kept in another way first; now they are."""


class ChangeJournal(Protocol):
    """Keeps every change of an engine before it happens, as a store does. It comes along with each of them."""

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing to prepare."""
        ...

    def prepare(self, run: Run) -> None:
        """Get ready for the first change that comes; when it raises, nothing changes, and the next change does it again."""
        ...

    def commit(self, changes: Any) -> None:
        """Keep a transaction that is computed and that nobody has seen yet; when it raises, the transaction never was.

        `changes` are those of support, in the form of the engine.
        """
        ...


# -- all steps of a program --------------------------------------------------------------------------------------------


class MaintainedStep(Protocol):
    """Rules that are maintained together, and what they derive: those of a hyper-node, or of a predicate that prepares for it."""

    @property
    def identity(self) -> Hashable:
        """A key that is equal for equal steps, whatever graph they came from."""
        ...

    @property
    def owner(self) -> str:
        """The name under which the step supports facts."""
        ...

    @property
    def node(self) -> str:
        """The name of the hyper-node that the step belongs to."""
        ...

    @property
    def heads(self) -> dict[str, int]: ...

    @property
    def inputs(self) -> Set[str]: ...

    @property
    def recursive(self) -> bool: ...

    @property
    def alternates(self) -> bool:
        """Whether the rules run by turns."""
        ...

    @property
    def own_rules(self) -> tuple[NormalRule, ...]:
        """The rules that it derives its facts by; none for an aggregation."""
        ...

    @property
    def following_rules(self) -> tuple[NormalRule, ...]:
        """Its own rules in the form that follows changes."""
        ...

    @property
    def rules(self) -> StepRules:
        """The rules in every form that following changes needs; those of an aggregation tell the groups that change."""
        ...

    @property
    def groups(self) -> GroupRules | None:
        """The rules of an aggregation."""
        ...

    @property
    def stated(self) -> Mapping[str, Atom]:
        """The predicates of explicit facts that the rules read, each with an atom for the facts that they are chosen from."""
        ...


StepT = TypeVar("StepT", bound=MaintainedStep)


@dataclass(frozen=True)
class Signed:
    """A rule to run; what it derives is added, times `sign`, to what others with the same key do: an owner and a predicate.

    It `brings` instances where it tells those that are new after the transaction.
    """

    key: tuple[str, str]
    rule: NormalRule
    sign: int = 1
    brings: bool = False


class SupportKeeper(Protocol):
    """The support of facts in a transaction, as far as steps that come and go change it."""

    def starts_over(self, step: Any) -> bool:
        """Whether a step that goes has no support to hand over: the facts of its heir start without it."""
        ...

    def hand_over(self, predicate: str, arity: int, owners: Sequence[str], heir: str, *, counts: bool) -> None:
        """Transfer support to an heir as if it had always been the heir's: no fact loses anything by that.

        The heir supports each fact as often as the owners did where it `counts`, otherwise once.
        """
        ...

    def withdraw(self, predicate: str, arity: int, owner: str) -> None:
        """An owner that is no more supports no fact of a predicate."""
        ...


class ChangingFacts(SupportKeeper, Protocol):
    """The facts of one engine, which change in one transaction at a time."""

    runs_together: bool
    """Whether steps that need nothing of each other cost less when they run at once."""

    def steps(self, graph: RuleGraph, strategy: Strategy, known: Sequence[Any]) -> Sequence[Any]:
        """Return the steps of a program in order; those that are known already stay the same objects."""
        ...

    # -- a transaction ---------------------------------------------------------------------------------------------------

    def transaction(self, run: Run, steps: Sequence[Any], strategy: Strategy) -> AbstractContextManager[None]:
        """Return the block of one transaction, before which these were the steps: what it raises rolls everything back.

        Raise `TryAgain` where it was rolled back to keep facts in another way.
        """
        ...

    def leave(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """The rules, and with them the steps, are about to change."""
        ...

    def change_explicit(self, change: Any) -> tuple[int, int]:
        """Delete and insert explicit facts; what is in both is inserted. Return how many really went and came."""
        ...

    def begin_steps(self, steps: Sequence[Any], change: ChangedSteps) -> None:
        """Explicit facts and rules have changed; these steps are going to follow that."""
        ...

    def finished(self, step: Any) -> None:
        """A step has followed the changes, or none has reached it."""
        ...

    def settle(self) -> None:
        """Find what has become visible, and what has gone, by the changes of support so far."""
        ...

    def check(self) -> None:
        """Raise at a limit or an interrupt of the run."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """Enter the visible facts that went and came."""
        ...

    def commit(self) -> None: ...

    # -- what has changed ------------------------------------------------------------------------------------------------

    def has_changed(self, predicate: str) -> bool:
        """Whether a visible fact has gone or come."""
        ...

    def has_lost(self, predicate: str, arity: int) -> bool:
        """Whether an owner has stopped supporting a fact; a recursive step has to hear of that even where others support it."""
        ...

    def gone(self, predicate: str, arity: int) -> Any:
        """Return the facts that have lost their last support by counting since `settle`; None where there are none."""
        ...

    def point(self, step: Any) -> Any:
        """Return where the heads of a step stand, for `changes_since`."""
        ...

    def changes_since(self, step: Any, point: Any) -> tuple[int, int]:
        """Return how many facts of its heads a step has deleted and inserted."""
        ...

    @property
    def instances(self) -> int:
        """How many rule instances have been tried so far; 0 where nobody counts them."""
        ...

    # -- what steps do ---------------------------------------------------------------------------------------------------

    def begin(self, tasks: Sequence[Task]) -> None:
        """These steps are next."""
        ...

    def follows(self, task: Task) -> bool:
        """Return True where the engine keeps the facts of a step in a form of its own, such as a closure, and has followed."""
        ...

    def derive(self, wanted: Sequence[Signed]) -> Mapping[tuple[str, str], Any]:
        """Return the sums of what rules derive, by key; rules without changed facts are left out, and keys without a head."""
        ...

    def change_support(self, predicate: str, owner: str, change: Any, *, counted: bool) -> None:
        """Let an owner support facts more or less often, by sums of heads."""
        ...

    def explicit_change(self, predicate: str, arity: int) -> Any:
        """Return which explicit facts have gone and come so far, as sums of heads."""
        ...

    def explicit_facts(self, predicate: str, arity: int) -> Any:
        """Return all explicit facts of a predicate, as sums of heads."""
        ...

    def ask_about(self, predicate: str, facts: Any) -> None:
        """From now on rules see these heads as CHANGING."""
        ...

    def derivable(self, steps: Sequence[Any], predicate: str, facts: Any) -> Mapping[str, Any]:
        """Return those of the facts that steps which are up to date derive, by their owners, and which they do not support."""
        ...

    def support_once(self, predicate: str, owner: str, facts: Any) -> None:
        """Let an owner support facts that it did not support."""
        ...

    def owned_only_by(self, predicate: str, arity: int, owner: str, other: str) -> Any:
        """Return the facts that an owner supports and another one does not."""
        ...

    def facts(self, task: Task, *, counts: bool = False, most: int | None = None) -> StepFacts[Any, Any]:
        """Return the facts of a recursive step; a deletion raises `OverBudget` where it takes more than `most`, in the engine's
        own measure."""
        ...

    def give_up(self, task: Task) -> None:
        """Forget what is half done of a recursive step."""
        ...

    def form_of(self, step: Any) -> str:
        """Return the name of the form in which the facts of a step are kept; empty where that is fact by fact."""
        ...

    def is_small(self, step: Any) -> bool:
        """Whether a step is derived as fast as following a change begins; asked where steps run together."""
        ...

    def gains_by_a_job(self, steps: Sequence[Any]) -> bool:
        """Whether deriving small steps together is better than following; asked where steps run together."""
        ...

    def check_values(self, tasks: Sequence[Task]) -> None:
        """Raise where a new instance has an expression without a value, and that is to stop everything."""
        ...

    def describe(self, task: Task) -> None:
        """Add to a report what following a change has cost in this engine."""
        ...

    # -- deriving steps again (`reasoning.maintain.recompute`) ---------------------------------------------------------------

    def derive_in_place(self, tasks: Sequence[Task]) -> None:
        """Derive steps, in order, from what they read and from what others support of their heads, and let them support what
        they derive, and nothing else."""
        ...

    def recount(self, step: Any) -> None:
        """Make the support of a step the number of its rule instances."""
        ...

    def beside(self, step: Any) -> FactsBeside | None:
        """Return what derives a step beside the facts that are there; None where that cannot be."""
        ...


class FactsBeside(Protocol):
    """Steps that are derived beside the facts that are there, which the result replaces when the transaction ends."""

    def derive_beside(self, task: Task, direction: Direction, *, most: int | None = None) -> None:
        """Derive a step; raise `OverBudget`, with nothing changed, where that takes more than `most` rule instances."""
        ...

    def can_go_on(self, step: Any) -> bool:
        """Whether deriving a step may begin with facts that are there, and end before it is done."""
        ...

    def go_on_beside(self, task: Task, last: Any, direction: Direction) -> None:
        """Derive what follows from the facts that a step has found last."""
        ...

    def was_closed(self, predicates: Mapping[str, int]) -> bool:
        """Whether one of the predicates was kept as a closure, by a step that is no more."""
        ...

    def has_changed(self, predicate: str) -> bool:
        """Whether a visible fact has gone or come."""
        ...

    def change_of(self, predicate: str, arity: int) -> tuple[int, int, int]:
        """Return how many visible facts went and came, and how many of those that were there are left."""
        ...

    def direction_of(self, predicate: str, arity: int) -> Direction:
        """Return whether a predicate may have lost facts, or support, and whether it may have gained facts so far."""
        ...


class DerivedFacts(Protocol):
    """The facts of an engine that derives everything once more to follow a change."""

    def derived(self) -> Any:
        """Return everything that deriving replaces."""
        ...

    def derive_after(self, change: Any, graph: RuleGraph, run: Run, outcome: Outcome) -> None:
        """Change explicit facts, enter how many of them went and came, and derive everything by these rules."""
        ...

    def compare(self, before: Any, change: Any, outcome: Outcome) -> None:
        """Enter the visible facts that went and came since `derived`."""
        ...

    def put_back(self, before: Any) -> None:
        """Let everything be as it was at `derived`."""
        ...


# -- one recursive step ------------------------------------------------------------------------------------------------


class Mark(Enum):
    """Sets of facts that an engine remembers while it maintains one step."""

    CHECKED = auto()
    """Somebody asked whether the fact follows from what is left."""
    KNOWN = auto()
    """It does."""


class StepFacts(Protocol[Rows, Heads]):
    """The facts of one step in one transaction. `finish` ends the work on them; before it, the step may be given up."""

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(self, deltas: Iterable[Delta], new: Iterable[NormalRule] = ()) -> Mapping[str, Heads]:
        """Return the heads of rules whose trigger has facts, and of all instances of `new` rules over the facts after the
        transaction as far as they are settled."""
        ...

    def rows(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """Return those of the derived facts that are known: visible now, or before."""
        ...

    def arrays(self, facts: Mapping[str, Rows]) -> dict[str, Array]:
        """Return the facts as rows of the numbers that stand for constants."""
        ...

    def heads(self, arrays: Mapping[str, Array]) -> Mapping[str, Heads]:
        """Return facts of the step, given as such rows, as if rules had derived them; one may be given more than once."""
        ...

    # -- rounds ------------------------------------------------------------------------------------------------------

    def trying(self) -> AbstractContextManager[None]:
        """Return a context in which a deletion raises `OverBudget` when it turns out to be more than is worth following."""
        ...

    def begin_rounds(self, *, grows: bool = False) -> None:
        """A new phase of rounds begins; where the step only grows from now on, none of its facts will go any more."""
        ...

    def next_round(self) -> None:
        """Count one more round of the phase, and raise at a limit."""
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
        """From now on rules see these facts as CHANGING, and nothing else changes."""
        ...

    # -- what is lost ------------------------------------------------------------------------------------------------

    def note_lost(self, heads: Mapping[str, Heads]) -> None:
        """Take lost instances from the counters of a step that counts."""
        ...

    def remove(self, rules: Sequence[NormalRule]) -> dict[str, Rows]:
        """Return what rules that the step has lost derived before the transaction; its counters count that no more."""
        ...

    def given_up(self) -> dict[str, Rows]:
        """Return the facts that other owners have stopped supporting: the step's own support may go round in circles."""
        ...

    def deletable(
        self, lost: Mapping[str, Rows], given_up: Mapping[str, Rows], *, stops_at_support: bool = True
    ) -> dict[str, Rows]:
        """Return the facts that a deletion may go on from: visible before, not reached yet, and without support by others.

        With `stops_at_support=False` only those that were given up are asked about support. A step that does not count stops
        supporting what others support: it may have lost its last derivation.
        """
        ...

    def unsupported(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return the facts that nobody else supports, nor turns out to derive when asked."""
        ...

    def reach(self, facts: Mapping[str, Rows]) -> None:
        """A deletion takes these facts back for now: they are CHANGING, and UNTOUCHED leaves them out from now on."""
        ...

    def reached(self) -> dict[str, Rows]:
        """Return everything that the deletion has reached."""
        ...

    def spread(self, facts: Mapping[str, Rows]) -> None:
        """The deletion has gone on from these facts: UNSPREAD leaves them out from now on."""
        ...

    def withdraw(self, facts: Mapping[str, Rows]) -> None:
        """The step supports these facts no more."""
        ...

    def hidden(self, facts: Mapping[str, Rows]) -> tuple[dict[str, Rows], dict[str, Rows]]:
        """Return those of withdrawn facts that nobody supports, nor turns out to derive, and those that are visible."""
        ...

    def restore(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """The step derives these hidden facts after all: support them, and return them."""
        ...

    def restore_counted(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return those of overdeleted facts whose counters say that they are derived from what is left; they are supported."""
        ...

    def begin_proofs(self) -> None:
        """Nothing is proved yet: PROVED is empty."""
        ...

    def prove(self, facts: Mapping[str, Rows]) -> None:
        """These facts follow from what is left: they are KNOWN, part of PROVED, and supported again where that was withdrawn."""
        ...

    def visible(self, facts: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return those of the facts that are visible as far as the transaction has come."""
        ...

    # -- what is gained ----------------------------------------------------------------------------------------------

    def born(self) -> dict[str, Rows]:
        """Return the facts of the step that are visible now and were not before the transaction."""
        ...

    def set_changing(self, facts: Mapping[str, Rows]) -> None:
        """An insertion has just reached these facts: they are CHANGING, and SETTLED leaves them out until the next ones."""
        ...

    def add(self, heads: Mapping[str, Heads]) -> dict[str, Rows]:
        """Support what was derived, as often as it was where the step counts, and return what was not visible before that."""
        ...

    def finish(self) -> None:
        """The step is done: forget marks, and report the changes of support to the transaction."""
        ...
