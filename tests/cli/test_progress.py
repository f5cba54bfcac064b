"""What the line of a long run says."""

from __future__ import annotations

from corollary.cli.progress import Progress


def test_the_line_tells_hyper_node_round_and_facts() -> None:
    progress = Progress(3)
    progress.watch(1200)
    assert progress._line().plain.startswith("hyper-node 1 of 3: 1,200 facts, ")
    progress.at_round(1500)
    assert progress._line().plain.startswith("hyper-node 1 of 3: round 1,500, 1,200 facts, ")
