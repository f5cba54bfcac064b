"""The support of rows inside a transaction: what it was before can be told, and put back, whatever has happened to it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.relations.relation import Relation

ROWS = 6
OWNERS = ("a", "b", "c")
Counts = dict[str, list[int]]


def relation_with(counts: Counts) -> MaintainedRelation:
    relation = Relation(1, counted=True)
    relation.append_distinct(np.arange(ROWS, dtype=np.uint32).reshape(-1, 1))
    for owner, column in counts.items():
        relation.support_of(owner)[:ROWS] = column
    relation.support_of("others")[:ROWS] = 1  # every row is visible
    return MaintainedRelation(relation, "others")


def counts_of(maintained: MaintainedRelation) -> Counts:
    columns = {owner: maintained.support(owner, np.arange(ROWS)).tolist() for owner in maintained.relation.owners}
    return {owner: column for owner, column in columns.items() if any(column)}


columns = st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(OWNERS), st.lists(st.integers(0, ROWS - 1), min_size=1, unique=True)),
        st.tuples(st.just("transfer"), st.sampled_from(OWNERS), st.sampled_from(OWNERS), st.booleans()),
        st.tuples(st.just("look")),
    ),
    max_size=8,
)


@given(st.dictionaries(st.sampled_from(OWNERS), columns), steps)
def test_support_is_put_back_and_the_log_tells_what_it_was(before: Counts, course: list[tuple]) -> None:
    maintained = relation_with(before)
    was = counts_of(maintained)
    for kind, *given_to in course:
        if kind == "add":
            owner, rows = given_to
            maintained.change_support(owner, np.array(rows), 1)
        elif kind == "transfer":
            owner, successor, counts = given_to
            now = counts_of(maintained)
            maintained.transfer(owner, successor, counts=counts)
            if owner != successor:
                given, had = now.get(owner, [0] * ROWS), now.get(successor, [0] * ROWS)
                sums = [a + b if counts else max(b, min(1, a)) for a, b in zip(given, had, strict=True)]
                assert counts_of(maintained).get(successor, [0] * ROWS) == (sums if owner in now else had)
                assert owner not in counts_of(maintained)
        else:
            assert maintained.counts_before is not None  # writes renamed columns out
    earliest: dict[tuple[str, int], int] = {}
    for owner, rows, counts in maintained.counts_before:
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            earliest.setdefault((owner, row), count)
    for (owner, row), count in earliest.items():
        assert was.get(owner, [0] * ROWS)[row] == count
    for owner in OWNERS:
        for row in range(ROWS):
            if (owner, row) not in earliest:
                assert maintained.support(owner, np.array([row]))[0] == was.get(owner, [0] * ROWS)[row]
    maintained.roll_back()
    assert counts_of(maintained) == was
