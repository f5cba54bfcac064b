"""What a run on Spark has cost, in the shape of the embedded engine's report."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.analysis.stratification import readable
from corollary.engines.embedded.report import NodeReport, RunReport
from corollary.language import print_rule
from corollary.program import Rule


@dataclass
class SparkNodeReport(NodeReport):
    """`strategy` is how it ran on Spark, `reason` why in that way; `detail` is what the kernels in a task did.

    Spark does not count rule instances in rounds: `instances` are then 0.
    """

    reason: str = ""
    detail: str = ""


class SparkRunReport(RunReport):
    def explain(self, rules: dict[str, Rule], prefixes: dict[str, str]) -> str:
        """For people: per hyper-node its strategy with the reason, its rules and what they gave."""
        lines: list[str] = []
        for report in self.nodes:
            reason = report.reason if isinstance(report, SparkNodeReport) else ""
            lines.append(
                f"{report.node}  {report.strategy}: {report.rounds:,} rounds, {report.new_facts:,} new facts, "
                f"{report.seconds * 1000:,.1f} ms"
            )
            lines.append(f"  because {reason}")
            lines += [f"  {name}: {print_rule(rules[name], prefixes)}" for name in report.node.rules]
        return readable("\n".join(lines))
