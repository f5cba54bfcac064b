"""The plan of a rule change, to look at before the change is made (paper 000, Algorithms 2 to 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from corollary.analysis.rule_change import RuleChange
from corollary.analysis.rule_graph import HyperNode, RuleGraph
from corollary.language import print_rule
from corollary.program import Rule

_INFLUENCED, _FOLLOWS = "its rules change", "its facts may change"


@dataclass(frozen=True, eq=False, repr=False)
class RuleChangePlan:
    """The effect of adding and removing rules on hyper-nodes, and the order in which these are derived again.

    Removals come first. `directly_influenced` are the hyper-nodes whose rules change (DIHN). `created` ones have new rules
    only, `dropped` ones go away with the facts that only they support. `merged` has, for each hyper-node that takes in new
    rules, the ones it is made of; `split` has, for each that loses rules, the pieces that are left. `execution_plan` is
    everything that the change can reach, in order.
    """

    before: RuleGraph
    after: RuleGraph
    added: tuple[Rule, ...] = ()
    removed: tuple[Rule, ...] = ()
    directly_influenced: tuple[HyperNode, ...] = ()
    created: tuple[HyperNode, ...] = ()
    merged: dict[HyperNode, tuple[HyperNode, ...]] = field(default_factory=dict)
    split: dict[HyperNode, tuple[HyperNode, ...]] = field(default_factory=dict)
    dropped: tuple[HyperNode, ...] = ()
    execution_plan: tuple[HyperNode, ...] = ()
    prefixes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        before: RuleGraph,
        removal: RuleChange | None,
        addition: RuleChange | None,
        prefixes: dict[str, str] | None = None,
    ) -> RuleChangePlan:
        """Return the plan of a removal followed by an addition; either may be missing."""
        changes = [one for one in (removal, addition) if one is not None]
        after = changes[-1].graph if changes else before
        without = removal.graph if removal is not None else before

        def now(nodes: Sequence[HyperNode]) -> set[HyperNode]:
            return {after.node_of[name] for node in nodes for name in node.rules}

        return cls(
            before,
            after,
            tuple(rule for name, rule in after.rules.items() if name not in without.rules),
            tuple(rule for name, rule in before.rules.items() if name not in without.rules),
            after.order({node for one in changes for node in now(one.impacted)}),
            addition.created if addition is not None else (),
            addition.merged if addition is not None else {},
            removal.split if removal is not None else {},
            removal.dropped if removal is not None else (),
            after.order({node for one in changes for node in now(one.plan)}),
            dict(prefixes or {}),
        )

    def as_dict(self) -> dict[str, object]:
        """Return the object that `corollary rules --plan --json` prints."""
        return {
            "added": [self._rule(rule) for rule in self.added],
            "removed": [self._rule(rule) for rule in self.removed],
            "directly_influenced": _rules(self.directly_influenced),
            "created": _rules(self.created),
            "merged": [{"into": list(new.rules), "from": _rules(parts)} for new, parts in self.merged.items()],
            "split": [{"from": list(old.rules), "into": _rules(pieces)} for old, pieces in self.split.items()],
            "dropped": _rules(self.dropped),
            "execution_plan": [
                {"hyper_node": list(node.rules), "directly_influenced": node in self.directly_influenced}
                for node in self.execution_plan
            ],
            "hyper_nodes_before": _rules(self.before.hyper_nodes),
            "hyper_nodes_after": _rules(self.after.hyper_nodes),
        }

    def to_json(self) -> str:
        """Return the plan as the text of a JSON object."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def __repr__(self) -> str:
        planned = ", ".join(map(str, self.execution_plan))
        return f"<RuleChangePlan: {len(self.added)} added, {len(self.removed)} removed, plan [{planned}]>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for word, rules in (("remove", self.removed), ("add", self.added)):
            for rule in rules:
                yield f"{word} {rule.name}: {print_rule(rule, self.prefixes)}"
        if not self.added and not self.removed:
            yield "no rule changes"
            return
        yield ""
        yield f"directly influenced (DIHN): {', '.join(map(str, self.directly_influenced)) or 'none'}"
        for node in self.dropped:
            yield f"dropped: {node}"
        for node, pieces in self.split.items():
            yield f"{'split' if len(pieces) > 1 else 'shrunk'}: {node} into {listed(pieces)}"
        for node, parts in self.merged.items():
            new = " and new rules" if len(node.rules) > sum(len(part.rules) for part in parts) else ""
            yield f"{'merged' if len(parts) > 1 else 'grown'}: {listed(parts)}{new} into {node}"
        for node in self.created:
            yield f"created: {node}"
        yield ""
        if not self.execution_plan:
            yield "execution plan: empty, because no remaining rule uses what changes"
            return
        yield "execution plan"
        width = max(len(str(node)) for node in self.execution_plan)
        for number, node in enumerate(self.execution_plan, 1):
            yield f"  {number}. {node!s:{width}}  {self.role(node)}"

    def role(self, node: HyperNode) -> str:
        """Return why a hyper-node is in the execution plan: its rules change, or its facts may; empty if it is not in it."""
        if node in self.directly_influenced:
            return _INFLUENCED
        return _FOLLOWS if node in self.execution_plan else ""

    def _rule(self, rule: Rule) -> dict[str, str]:
        return {"name": rule.name, "text": print_rule(rule, self.prefixes)}


def listed(nodes: Sequence[HyperNode]) -> str:
    """Return `{r1}`, `{r1} and {r2}`, or `{r1}, {r2} and {r3}`."""
    names = list(map(str, nodes))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _rules(nodes: Sequence[HyperNode]) -> list[list[str]]:
    return [list(node.rules) for node in nodes]
