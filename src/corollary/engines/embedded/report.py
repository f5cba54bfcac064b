"""Reports on a materialisation, its cost and its results, for programs and for people."""

from __future__ import annotations

from dataclasses import dataclass, field

from corollary.analysis import HyperNode
from corollary.analysis.stratification import readable
from corollary.engines.embedded.evaluation import PlanReport
from corollary.language import print_rule
from corollary.planning import explain_plan
from corollary.program import Rule


@dataclass
class NodeReport:
    """The cost and the results of evaluating one hyper-node."""

    node: HyperNode
    strategy: str
    rounds: int
    instances: int
    new_facts: int
    seconds: float
    plans: list[PlanReport]


@dataclass
class RunReport:
    """The report on one materialisation, hyper-node by hyper-node."""

    nodes: list[NodeReport] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return sum(node.rounds for node in self.nodes)

    @property
    def instances(self) -> int:
        return sum(node.instances for node in self.nodes)

    @property
    def seconds(self) -> float:
        return sum(node.seconds for node in self.nodes)

    def explain(self, rules: dict[str, Rule], prefixes: dict[str, str]) -> str:
        """Return a text: for each hyper-node its strategy, for each rule the order, the access paths and the actual counts."""
        lines: list[str] = []
        for report in self.nodes:
            lines.append(
                f"{report.node}  {report.strategy}: {report.rounds:,} rounds, {report.instances:,} instances, "
                f"{report.new_facts:,} new facts, {report.seconds * 1000:,.1f} ms"
            )
            lines += [f"  {name}: {print_rule(rules[name], prefixes)}" for name in report.node.rules]
            for plan in report.plans:
                lines.append(
                    f"    plan of {plan.plan.name}: ran {plan.runs:,} times, {plan.instances:,} instances, "
                    f"{plan.new_facts:,} new facts"
                )
                lines += [f"      {number}. {line}" for number, line in enumerate(explain_plan(plan.plan, prefixes), 1)]
        return readable("\n".join(lines))
