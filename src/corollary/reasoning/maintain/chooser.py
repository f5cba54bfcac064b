"""The strategies: how a step follows changes, by name. All give the same facts; they differ in cost.

A strategy chooses a way for each step that a transaction affects. Costs depend on the engine. With compiled loops, cost
is the number of rule instances, which can be counted and limited (`_ByInstances`). On a cluster, where every look at
the facts is a job, cost is mostly the number of jobs (`_ByJobs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from corollary.analysis import HyperNode, RuleGraph
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.base import MaintainedStep, OverBudget, StepFacts
from corollary.planning import NormalRule
from corollary.planning.steps import Step
from corollary.program import Atom, atoms_of
from corollary.reasoning.maintain.backward_forward import maintain_by_checking
from corollary.reasoning.maintain.counting import touched_groups
from corollary.reasoning.maintain.delete_rederive import delete_and_rederive
from corollary.reasoning.maintain.modules import FollowedModule, modules_among, registered_modules
from corollary.reasoning.maintain.recompute import go_on, recompute
from corollary.reasoning.maintain.recursive_step import StepChange, insert_only
from corollary.reasoning.maintain.step_rules import steps_in_order
from corollary.settings import FOLLOWING

if TYPE_CHECKING:
    from corollary.reasoning.maintain.transaction import Task

_MOST = 0.5  # a change of more than this part of an input may be recomputed
_FEW = 100  # facts of inputs; changes this small are always followed
_AT_LEAST = 2_000  # rule instances, or facts; that many are always worth a try
_COUNTING = 8  # changing the support of a fact costs as much as this many rule instances
_MUCH_LOST, _MUCH_GAINED = 0.05, 0.25  # parts of all inputs of a recursive step; more is recomputed without a try
_TRIES = 5  # times the instances that the deletion has taken; recomputing with more means that much is left
_START = 5  # a recursive step whose own facts change by more than one in this many at the start is recomputed
_SHARE = 20  # a deletion that reaches more than one in this many facts is not followed by jobs
_LARGE_SHARE = 0.04  # the part of all explicit facts from which on a change is large
_LEAST_CHANGE = 32  # facts; smaller changes are never large
_CLOSURE_SHARE = 0.08  # large closures follow smaller changes well
_MANY_PAIRS = 100_000  # pairs of a large closure
_THIRD = 0.33
_CONCERNED = 0.8  # the part of the cost of deriving everything that a large change concerns
_NODE_COST = 500  # rule instances: the cost of a hyper-node that derives nothing
_MANY_NODES = 10  # hyper-nodes; with fewer, only what recursive ones lose counts

Algorithm = Callable[[StepChange, StepFacts[Any, Any]], None]
ALGORITHMS: dict[str, Algorithm] = {
    "backward-forward": maintain_by_checking,
    "dred": partial(delete_and_rederive, stops_at_support=False),
    "dred-counting": partial(delete_and_rederive, counts=True),
    "dred-counting-modules": partial(delete_and_rederive, counts=True),
}
"""How a recursive step follows changes, by the name of the strategy that always uses that algorithm."""


class Way(Enum):
    """How a step follows a change."""

    COUNT = auto()
    GROUPS = auto()
    RECOMPUTE = auto()
    FOLLOW = auto()
    """In the strategy's own way; it may still find that recomputing is cheaper."""


class Strategy:
    """How the steps of one knowledge base follow changes. By default, nonrecursive steps count and aggregates are
    maintained by group."""

    name = ""
    recursive_name = ""  # what recursive steps usually do
    nonrecursive_name = "counting"
    counts_recursion = False  # recursive steps count their rule instances (see `counts_instances`)
    follows_closures = True  # hyper-nodes that are closures keep a closure's own representation
    replaces = False  # recomputed facts replace the old ones
    keeps_facts = False  # recursive steps keep a table of their facts, and are notified of changed support by others
    derives_small_steps = False  # small steps are derived together if the engine gains by that
    has_modules = False  # registered modules take rules of recursive steps

    def __init__(self) -> None:
        self._registered = registered_modules() if self.has_modules else {}
        self._modules: dict[tuple[NormalRule, ...], tuple[FollowedModule, ...]] = {}

    def modules_of(self, step: MaintainedStep | Step) -> Sequence[FollowedModule]:
        """Return the modules that take rules of a step, among those that were registered when the strategy was made."""
        if not self._registered or not step.recursive:
            return ()
        rules = step.following_rules
        if rules not in self._modules:
            self._modules[rules] = modules_among(rules, self._registered)
        return self._modules[rules]

    def note_cost(self, owner: str, instances: int) -> None:
        """Take note of how many rule instances it took to derive a step from nothing."""

    def counts_instances(self, step: MaintainedStep | Step) -> bool:
        """Return whether the support of a step is the number of its rule instances, for every fact that it derives.

        Otherwise a step supports, once, the facts that no other owner supported when it derived them; whether it
        derives others is asked when needed. Rules that alternate are always recomputed, and never count.
        """
        return not step.recursive or (self.counts_recursion and not step.alternates)

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        """Return the steps in order, each with the name of its hyper-node."""
        return steps_in_order(graph)

    def prepare(self, steps: Sequence[Any], facts: Any) -> None:
        """Prepare for a transaction; `steps` are those before it."""

    def forget(self) -> None:
        """Forget a transaction that was given up."""

    def choose(self, task: Task) -> Way:
        """Choose how a step follows the change, and name the way in the report."""
        if task.step.groups is not None:
            return self.choose_for_groups(task)
        return self.choose_for_recursion(task) if task.step.recursive else self.choose_for_counting(task)

    def choose_for_counting(self, task: Task) -> Way:
        task.report.strategy = "counting"
        return Way.COUNT

    def choose_for_groups(self, task: Task) -> Way:
        task.report.strategy = "aggregates by group"
        return Way.GROUPS

    def choose_for_recursion(self, task: Task) -> Way:
        raise NotImplementedError

    def follow(self, task: Task) -> None:
        """Let a step follow in the strategy's own way. Raise `OverBudget`, with the reason, if recomputing is cheaper."""
        raise NotImplementedError

    def finished(self, task: Task) -> None:
        """Take note that a step has followed the change; the report tells at what cost."""


class _Simple(Strategy):
    """One algorithm for all recursive steps."""

    def __init__(self, name: str) -> None:
        self.name = self.recursive_name = name
        self.counts_recursion = FOLLOWING[name].counts
        self.has_modules = self.follows_closures = FOLLOWING[name].modules
        super().__init__()

    def counts_instances(self, step: MaintainedStep | Step) -> bool:
        """Return False for steps with modules, which find facts but not rule instances."""
        return super().counts_instances(step) and (not step.recursive or not self.modules_of(step))

    def choose_for_recursion(self, task: Task) -> Way:
        task.report.strategy, task.modules = self.name, self.modules_of(task.step)
        if task.modules:
            _without_counters(task)
        return Way.FOLLOW

    def follow(self, task: Task) -> None:
        counts = self.counts_recursion and not task.modules
        ALGORITHMS[task.report.strategy](task, task.facts.facts(task, counts=counts))


def _without_counters(task: Task) -> None:
    """Report that a step does not count: DRed^c counts rule instances one by one, modules do not find them (paper 002,
    section 5)."""
    names = ", ".join(module.name for module in task.modules)
    task.report.strategy, task.report.reason = "dred", f"no derivations are counted where a module takes rules: {names}"


class _Recompute(Strategy):
    name = recursive_name = nonrecursive_name = "recompute"
    follows_closures = False
    replaces = True

    def choose(self, task: Task) -> Way:
        return recomputing(task)


def recomputing(task: Task, reason: str = "") -> Way:
    task.report.strategy, task.report.reason = "recompute", reason
    return Way.RECOMPUTE


class _ByInstances(Strategy):
    """The choice for each step, by the size of the change and by what the step has cost so far."""

    name = recursive_name = "auto"
    replaces = True

    has_modules = True

    def __init__(self) -> None:
        super().__init__()
        self._costs: dict[str, int] = {}

    def note_cost(self, owner: str, instances: int) -> None:
        self._costs[owner] = instances

    def finished(self, task: Task) -> None:
        if task.recomputed_by is not None:
            self._costs[task.step.owner] = task.recomputed_by

    def choose_for_counting(self, task: Task) -> Way:
        if task.is_new:
            return recomputing(task, "its rules are new")
        if reason := _mostly_changed(task) or self._many_instances(task):
            return recomputing(task, reason)
        return super().choose_for_counting(task)

    def choose_for_groups(self, task: Task) -> Way:
        """Recompute if most groups change: aggregating them all together saves looking up their bindings."""
        facts, groups = task.facts, task.step.groups
        assert groups is not None
        for bindings in groups.source.body.sources:
            if isinstance(bindings, Atom) and facts.has_changed(bindings.predicate):
                if facts.is_replaced(bindings.predicate):  # finding the changed bindings costs as much
                    return recomputing(task)
                deleted, inserted, left = facts.change_of(bindings.predicate, len(bindings.arguments))
                if deleted + inserted > max(left, _AT_LEAST):
                    return recomputing(task)
        task.touched = touched_groups(task, facts)
        ((result, arity),) = task.step.heads.items()
        if task.touched is not None and 3 * task.touched.size > max(facts.size(result, arity), _AT_LEAST // 100):
            return recomputing(task)
        return super().choose_for_groups(task)

    def _many_instances(self, task: Task) -> str:
        """Return why running the rules once over everything is cheaper than following so many instances; empty if it is not."""
        facts, share = task.facts, 0.0
        for predicate, arity, _ in task.rules.uses:
            if facts.has_changed(predicate):
                deleted, inserted, left = facts.change_of(predicate, arity)
                share += (deleted + inserted) / max(1, left + deleted, inserted)
        if not share:
            return ""
        total, cost, known = self._instances(task), self._cost(task), self._size(task)
        if not known and share >= _MOST:
            return "there is nothing to keep"
        derived = min(total, known)  # others may support most facts of a head
        if 2 * cost < total:  # the last derivation joined rows of bits instead of instances
            cost = _COUNTING * derived
        instances = int(share * (total + _COUNTING * derived))
        if instances <= max(cost, _AT_LEAST):
            return ""
        return f"about {int(share * total):,} instances would change, deriving takes {cost:,}"

    def _instances(self, task: Task) -> int:
        """Return how many instances the rules of a nonrecursive step have: as measured last time, or as its support
        counts say."""
        if known := self._costs.get(task.step.owner):
            return known
        return sum(task.facts.counted_by(task.step.owner, name, arity) for name, arity in task.step.heads.items())

    def choose_for_recursion(self, task: Task) -> Way:
        if task.is_new:
            return recomputing(task, "its rules are new")
        if task.facts.was_closed(task.step.heads):
            return recomputing(task, "it was closed")
        task.go_on, task.modules = partial(go_on, task, task.facts), self.modules_of(task.step)
        task.may_lose = task.facts.may_lose(task)
        share = _MUCH_LOST if task.may_lose else _MUCH_GAINED
        if reason := _mostly_changed(task) or _much_changed(task, share):
            return recomputing(task, reason)
        return Way.FOLLOW

    def follow(self, task: Task) -> None:
        if not task.may_lose:
            task.report.strategy, task.report.reason = "semi-naive", "nothing was deleted"
            insert_only(task, task.facts.facts(task))
            return
        self._follow_deletion(task)

    def _follow_deletion(self, task: Task) -> None:
        """Overdelete if little depends on the deletion; otherwise search for proofs if those are short.

        What remains after the deletion may be far less than before, and quickly derived: that is tried before much is
        spent.
        """
        cost, facts = self._cost(task), task.facts
        first = facts.instances
        little, short = "little depends on what was deleted", "much depends on what was deleted, and proofs are short"
        attempts: list[tuple[str, str, Algorithm | None, int]] = [
            ("dred", little, delete_and_rederive, cost // 500),
            ("recompute", "little is left", None, _TRIES * cost // 500),
            ("dred", little, delete_and_rederive, cost // 40),
            ("backward-forward", short, maintain_by_checking, cost // 20),
        ]
        if task.rules.ends:  # in a closure, one proof may show that nothing is lost
            attempts = [attempts[0], attempts[-1]]
        for name, reason, algorithm, budget in attempts:
            task.report.strategy, task.report.reason = name, reason
            try:
                if algorithm is None:
                    recompute([task], facts, most=_AT_LEAST + budget)
                else:
                    algorithm(task, facts.facts(task, most=_AT_LEAST + budget))
                return
            except OverBudget:
                facts.give_up(task)
        spent = facts.instances - first
        raise OverBudget(f"the deletion took {spent:,} instances and was not done, deriving took {cost:,}")

    def _cost(self, task: Task) -> int:
        """Return roughly how many rule instances deriving the step takes: as many as last time, at least one for each fact."""
        return max(self._size(task), self._costs.get(task.step.owner, 0))

    def _size(self, task: Task) -> int:
        return sum(task.facts.supported_size(name, arity) for name, arity in task.step.heads.items())


def _mostly_changed(task: Task) -> str:
    """Return why recomputing is better from the start; empty if it is not."""
    facts, heads = task.facts, task.step.heads
    for predicate, arity, is_negated in task.rules.uses:
        if not is_negated and facts.has_changed(predicate):
            deleted, inserted, left = facts.change_of(predicate, arity)
            # Changes of the step's own predicates have only begun at this point.
            limit = left // _START if predicate in heads else left
            name = predicate.removeprefix("\0").partition("\0")[0]
            if deleted > max(limit, _AT_LEAST):
                return f"{deleted:,} facts of {name} went, {left:,} are left"
            if inserted > max(limit, _AT_LEAST):
                return f"{inserted:,} facts of {name} came to {left:,}"
    return ""


def _much_changed(task: Task, share: float) -> str:
    """Return why recomputing a recursive step is better, namely that more than a share of its inputs changed; empty
    otherwise.

    The facts it derived itself are left out: they are usually far more, and say nothing about the change.
    """
    facts, heads = task.facts, task.step.heads
    changed = total = 0
    for predicate, arity in {predicate: arity for predicate, arity, _ in task.rules.uses}.items():
        if predicate not in heads:
            deleted, inserted, left = facts.change_of(predicate, arity)
            changed, total = changed + deleted + inserted, total + left + deleted
    return f"{changed:,} facts of its inputs changed, of {total:,}" if changed >= max(share * total, _FEW) else ""


class _ByJobs(Strategy):
    """The choice for an engine on which every look at the facts is a job; deriving `recompute_facts` takes no longer
    than following a change.

    Recursive steps keep counters beside their support, which only tells which facts they derive.
    """

    def __init__(self, name: str, recompute_facts: int) -> None:
        self.name = self.recursive_name = name
        self.nonrecursive_name = "recompute" if name == "recompute" else "counting"
        self.derives_small_steps = name == "auto"
        self.has_modules = FOLLOWING[name].modules
        super().__init__()
        self._recompute_facts = recompute_facts

    def choose(self, task: Task) -> Way:
        if task.is_new:
            return recomputing(task, "its rules are new")
        if self.name == "recompute":
            return recomputing(task, "it was asked for")
        return super().choose(task)

    def choose_for_recursion(self, task: Task) -> Way:
        facts = task.facts.known_to(task.step)
        if self.name == "auto" and facts <= self._recompute_facts and not task.facts.costs_no_job(task.step):
            return recomputing(task, f"{facts:,} facts are derived in no time")
        task.report.strategy, task.modules = "dred" if self.name == "auto" else self.name, self.modules_of(task.step)
        if task.modules and FOLLOWING[self.name].counts:
            _without_counters(task)
        return Way.FOLLOW

    def follow(self, task: Task) -> None:
        """Delete and rederive if little depends on the deletion, and add what follows from new facts."""
        facts, known = task.facts, task.facts.known_to(task.step)
        most = max(_AT_LEAST, known // _SHARE) if self.name == "auto" else None
        if most is not None and task.step.owner in task.change.heirs:
            task.most_new = max(_AT_LEAST, known)
        algorithm, counts = ALGORITHMS[task.report.strategy], FOLLOWING[self.name].counts and not task.modules
        try:
            algorithm(task, facts.facts(task, counts=counts, most=most))
        except OverBudget as why:
            raise OverBudget(f"{why}, and it knows {known:,}") from None


_BY_INSTANCES: dict[str, Callable[[], Strategy]] = {
    "auto": _ByInstances,
    "recompute": _Recompute,
    **{name: partial(_Simple, name) for name in ALGORITHMS},
}


def by_instances(name: str) -> Strategy:
    """Return the named strategy for an engine that can count and limit the rule instances it tries."""
    return _BY_INSTANCES[name]()


def by_jobs(name: str, recompute_facts: int) -> Strategy:
    """Return the named strategy for an engine on which every look at the facts is a job.

    Raise `ProgramError` if the strategy works only on other engines.
    """
    if name not in ("auto", "recompute", *ALGORITHMS):
        message = f"the strategy '{name}' needs an engine that counts rule instances"
        raise ProgramError([Diagnostic(catalogue.BAD_SETTINGS, message, hint='engine="embedded" has it')])
    return _ByJobs(name, recompute_facts)


# -- all steps at once ---------------------------------------------------------------------------------------------------


def is_large(
    deleted: Mapping[str, int],
    inserted: Mapping[str, int],
    graph: RuleGraph,
    explicit: Callable[[], int],
    pairs: Callable[[], int],
    costs: Callable[[], Mapping[HyperNode, int]],
) -> bool:
    """Return whether a change concerns so much that deriving everything costs least.

    Each hyper-node normally chooses for itself how it follows a change, and what it passes on is found fact by fact. If
    most of them would be recomputed anyway, that work is wasted. Where there are few of them, it is wasted only on recursive
    ones that lose facts and on those that read them: others without recursion follow a change at the cost of the change, and
    insertions go on from what is there. But nothing follows a change of a third of all facts well.

    `deleted` and `inserted` are the numbers of changed facts by predicate. `explicit` returns the number of all explicit
    facts, `pairs` that of the largest closure, and `costs` the rule instances that deriving each hyper-node takes: functions,
    because most changes are too small to need them.
    """
    size = sum(deleted.values()) + sum(inserted.values())
    if size < _LEAST_CHANGE:
        return False
    share = size / max(1, explicit())
    if share < _LARGE_SHARE or (share < _CLOSURE_SHARE and pairs() > _MANY_PAIRS):
        return False
    selects = len(graph.hyper_nodes) < _MANY_NODES and share < _THIRD
    if selects and inserted:
        return False
    known = costs()
    concerned, touched, total = 0, {*deleted, *inserted}, 0
    lost: set[str] = set()  # predicates that recursive hyper-nodes derive, and what depends on them
    for node in graph.hyper_nodes:
        rules = [graph.rules[name] for name in node.rules]
        cost = _NODE_COST + known.get(node, 0)
        total += cost
        heads = {rule.head.predicate for rule in rules}
        names = heads | {atom.predicate for rule in rules for atom, _ in atoms_of(rule.body)}
        if touched & names:
            touched |= heads
            if not selects or graph.is_recursive(node) or lost & names:
                lost |= heads
                concerned += cost
    return concerned >= _CONCERNED * total
