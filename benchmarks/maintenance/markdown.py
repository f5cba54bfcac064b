"""The section "Changes" of `docs/benchmarks.md`, written between two comments."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.maintenance.render import as_markdown
from benchmarks.maintenance.sheets import sheets
from benchmarks.maintenance.suite import Report

BEGIN, END = "<!-- results of changes: begin -->", "<!-- results of changes: end -->"


def section(report: Report) -> str:
    """All tables, what was missed, and what was checked."""
    missed = [verdict for verdict in report.verdicts if not verdict.met]
    judged = f"{len(report.verdicts) - len(missed)} of {len(report.verdicts)} targets are met."
    lines = [
        f"- {verdict.workload}: {verdict.value:,.2f} {verdict.what}, to reach {'≤' if verdict.less_is_better else '≥'} "
        f"{verdict.target:,.2f}"
        for verdict in missed
    ]
    checked = sum(outcome.states_checked for outcome in report.outcomes.values())
    tables = [as_markdown(sheet) for sheet in sheets(report.outcomes)]
    end = f"{checked:,} states were compared with deriving them from scratch. {judged}"
    return "\n\n".join(
        [*tables, "### Targets of changes", end + (" Missed:" if lines else ""), *(["\n".join(lines)] if lines else [])]
    )


def write_section(report: Report, document: Path) -> None:
    """Replaces what stands between the two comments."""
    text = document.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{document} has no place for the section: {BEGIN} … {END}")
    replacement = f"{BEGIN}\n\n{section(report)}\n\n{END}"
    document.write_text(pattern.sub(lambda _: replacement, text), encoding="utf-8")
