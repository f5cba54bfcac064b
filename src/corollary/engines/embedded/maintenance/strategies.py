"""The ways in which a step can follow changes, by name. All give the same facts; they differ in what they cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corollary.analysis import RuleGraph
from corollary.engines.embedded.maintenance.aggregates import AggregateRules, maintain_groups, touched_groups
from corollary.engines.embedded.maintenance.backward_forward import maintain_by_checking
from corollary.engines.embedded.maintenance.counting import derive_with_counts, maintain_by_counting
from corollary.engines.embedded.maintenance.deletion import delete_and_rederive
from corollary.engines.embedded.maintenance.recompute import recompute, recompute_groups
from corollary.engines.embedded.maintenance.recursive_counting import maintain_with_recursive_counts
from corollary.engines.embedded.maintenance.recursive_step import Found, RecursiveStep, Task
from corollary.engines.embedded.maintenance.rule_changes import steps_in_order
from corollary.engines.embedded.maintenance.step_rules import StepRules, atoms_of_rule
from corollary.engines.embedded.maintenance.transaction import Transaction
from corollary.planning.steps import Step
from corollary.program import Atom

_MOST = 0.5  # of an input has changed
_AT_LEAST = 2_000  # rule instances that are always worth a try; facts whose loss is always followed
_COUNTING = 8  # a fact whose support changes costs as much as so many rule instances
_START = 5  # a recursive step that starts to change in more than this part of its facts is derived anew


class Strategy:
    """How the steps of one knowledge base follow changes; each method gives the rows that lost their last support.

    Here everything is left to the subclasses' choice of a way for recursive steps; others count.
    """

    name = ""
    recursive_name = ""  # what recursive steps do as a rule
    nonrecursive_name = "counting"
    counts_recursion = False  # recursive steps count their rule instances
    follows_closures = True  # hyper-nodes that are closures are kept as such
    replaces = False  # what is derived anew takes the place of what was there
    keeps_facts = False  # recursive steps keep facts of their own, and hear of facts that others support by now

    def __init__(self) -> None:
        self._costs: dict[str, int] = {}

    def note_cost(self, owner: str, instances: int) -> None:
        """A step was derived from nothing, and that took so many rule instances."""
        self._costs[owner] = instances

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        """What is maintained as one, in order; each with the name of its hyper-node."""
        return steps_in_order(graph)

    def prepare(self, order: Sequence[StepRules | AggregateRules], transaction: Transaction) -> None:
        """Called before each transaction."""

    def forget(self) -> None:
        """Called when a transaction was given up."""

    def nonrecursive(self, task: Task) -> Found:
        task.report.strategy = "counting"
        return (derive_with_counts if task.is_new else maintain_by_counting)(task.rules, task.transaction)

    def groups(self, rules: AggregateRules, transaction: Transaction) -> tuple[str, Found]:
        return "aggregates by group", maintain_groups(rules, transaction, touched_groups(rules, transaction))

    def recursive(self, task: Task) -> Found:
        raise NotImplementedError


class _Simple(Strategy):
    """One way for all recursive steps."""

    def __init__(
        self, name: str, maintain: Callable[[Task], object], *, counts: bool = False, closures: bool = False
    ) -> None:
        super().__init__()
        self.name = self.recursive_name = name
        self.counts_recursion = counts
        self.follows_closures = closures
        self._maintain = maintain

    def recursive(self, task: Task) -> Found:
        task.report.strategy = self.name
        self._maintain(task)
        return {}


class _Recompute(Strategy):
    name = recursive_name = nonrecursive_name = "recompute"
    follows_closures = False
    replaces = True

    def nonrecursive(self, task: Task) -> Found:
        task.report.strategy = "recompute"
        return recompute(task)

    recursive = nonrecursive

    def groups(self, rules: AggregateRules, transaction: Transaction) -> tuple[str, Found]:
        return "recompute", recompute_groups(rules, transaction)


class _OverBudget(Exception):
    """Following a deletion has become more expensive than it is worth."""


class _Auto(Strategy):
    """Chooses for each step by the size of the change, and by what the step has cost so far."""

    name = recursive_name = "auto"
    replaces = True

    def nonrecursive(self, task: Task) -> Found:
        if task.is_new:
            return self._recompute(task, "its rules are new")
        if reason := _mostly_changed(task) or self._many_instances(task):
            return self._recompute(task, reason)
        return super().nonrecursive(task)

    def groups(self, rules: AggregateRules, transaction: Transaction) -> tuple[str, Found]:
        """Most groups are looked at faster together: then nobody has to find their bindings."""
        step = rules.step
        deleted, inserted, left = transaction.change_of(step.bindings, len(step.names))
        if deleted + inserted > max(left, _AT_LEAST):
            return "recompute", recompute_groups(rules, transaction)
        touched = touched_groups(rules, transaction)
        (arity,) = step.heads.values()
        if 3 * len(touched) > max(transaction.current(step.result, arity).size, _AT_LEAST // 100):
            return "recompute", recompute_groups(rules, transaction)
        return "aggregates by group", maintain_groups(rules, transaction, touched)

    def _many_instances(self, task: Task) -> str:
        """Whether so many instances come and go that running the rules once over everything is cheaper."""
        transaction, share = task.transaction, 0.0
        for rule in task.rules.step.rules:
            for atom in atoms_of_rule(rule):
                if transaction.has_changed(atom.predicate):
                    deleted, inserted, left = transaction.change_of(atom.predicate, atom.arity)
                    share += (deleted + inserted) / max(1, left + deleted, inserted)
        if not share:
            return ""
        total, cost, known = self._instances(task), self._cost(task), self._facts(task)
        if not known and share >= _MOST:
            return "there is nothing to keep"
        facts = min(total, known)  # others may support most facts of a head
        if 2 * cost < total:  # bits were joined, not instances
            cost = _COUNTING * facts
        instances = int(share * (total + _COUNTING * facts))
        if instances <= max(cost, _AT_LEAST):
            return ""
        return f"about {int(share * total):,} instances would change, deriving takes {cost:,}"

    def _instances(self, task: Task) -> int:
        """How many instances the rules of a nonrecursive step have: as many as the last time, or as it has counted."""
        if known := self._costs.get(task.rules.step.owner):
            return known
        found = 0
        for name, arity in task.rules.heads.items():
            relation = task.transaction.supported(name, arity).relation
            found += int(relation.support_of(task.rules.step.owner)[: relation.size].sum())
        return found

    def recursive(self, task: Task) -> Found:
        if task.is_new:
            return self._recompute(task, "its rules are new")
        if task.rules.heads.keys() & task.transaction.opened.keys():
            return self._recompute(task, "it was closed")
        if reason := _mostly_changed(task):
            return self._recompute(task, reason)
        if not loses(task):
            task.report.strategy, task.report.reason = "semi-naive", "nothing was deleted"
            step = RecursiveStep(task)
            step.insert({})
            step.clear_marks()
            return {}
        return self._follow_deletion(task)

    def _follow_deletion(self, task: Task) -> Found:
        """Takes back what depends on the deletion, if that is little; else asks what is provable, if that is easy."""
        cost = self._cost(task)
        attempts = (
            ("dred", "little depends on what was deleted", _take_back, cost // 20),
            (
                "backward-forward",
                "much depends on what was deleted, and proofs are short",
                maintain_by_checking,
                cost // 10,
            ),
        )
        first = task.transaction.work.instances
        for name, reason, maintain, budget in attempts:
            task.report.strategy, task.report.reason = name, reason
            try:
                maintain(task, check_budget=_budget(task.transaction, _AT_LEAST + budget))
                return {}
            except _OverBudget:
                for predicate, arity in task.rules.heads.items():
                    task.transaction.relation(predicate, arity).clear_marks()
        spent = task.transaction.work.instances - first
        return self._recompute(task, f"the deletion took {spent:,} instances and was not done, deriving took {cost:,}")

    def _recompute(self, task: Task, reason: str) -> Found:
        before = task.transaction.work.instances
        task.report.strategy, task.report.reason = "recompute", reason
        gone = recompute(task)
        self._costs[task.rules.step.owner] = task.transaction.work.instances - before
        return gone

    def _cost(self, task: Task) -> int:
        """About how many rule instances deriving the step takes: as many as the last time, or one for each fact."""
        return max(self._facts(task), self._costs.get(task.rules.step.owner, 0))

    def _facts(self, task: Task) -> int:
        heads = task.rules.heads
        return sum(task.transaction.supported(name, arity).relation.size for name, arity in heads.items())


def _take_back(task: Task, check_budget: Callable[[], None]) -> None:
    delete_and_rederive(task, stops_at_support=True, check_budget=check_budget)


def _budget(transaction: Transaction, instances: int) -> Callable[[], None]:
    """Something to call now and then: raises when more rule instances than that have run."""
    limit = transaction.work.instances + instances

    def check() -> None:
        if transaction.work.instances > limit:
            raise _OverBudget

    return check


def loses(task: Task) -> bool:
    """Whether the step may lose a fact at all."""
    transaction = task.transaction
    if task.removed_rules or any(transaction.views.has_facts(delta) for delta in task.rules.losing):
        return True
    return any(len(transaction.relation(name, arity).lost_rows()) for name, arity in task.rules.heads.items())


def _mostly_changed(task: Task) -> str:
    """Why deriving anew is the better choice from the start; nothing where it is not."""
    transaction, heads = task.transaction, task.rules.heads
    for rule in task.rules.step.rules:
        for atom in rule.body.sources:
            if isinstance(atom, Atom) and transaction.has_changed(atom.predicate):
                deleted, inserted, left = transaction.change_of(atom.predicate, atom.arity)
                # Inside a recursive step, what has changed so far is only where the changes begin.
                limit = left // _START if atom.predicate in heads else left
                name = atom.predicate.removeprefix("\0").partition("\0")[0]
                if deleted > max(limit, _AT_LEAST):
                    return f"{deleted:,} facts of {name} went, {left:,} are left"
                if inserted > max(limit, _AT_LEAST):
                    return f"{inserted:,} facts of {name} came to {left:,}"
    return ""


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "auto": _Auto,
    "backward-forward": lambda: _Simple("backward-forward", maintain_by_checking),
    "dred": lambda: _Simple("dred", delete_and_rederive),
    "dred-counting": lambda: _Simple("dred-counting", maintain_with_recursive_counts, counts=True, closures=True),
    "recompute": _Recompute,
}


def strategy_of(name: str) -> Strategy:
    return STRATEGIES[name]()
