"""The structures that the Yield index is compared with find the same, and look at more."""

import numpy as np
import pytest

from benchmarks.baselines.index_closure import IndexClosure
from benchmarks.yield_index import btree
from benchmarks.yield_index.data import CASES, RG, rg
from benchmarks.yield_index.experiments import QUICK, run_experiment
from benchmarks.yield_index.pictures import charts
from benchmarks.yield_index.sheets import sheets
from benchmarks.yield_index.structures import KNOWN, activate, inserted, yield_on_base, yield_on_inserted
from corollary.engines.embedded.closures.closure import LinearClosure
from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.language import parse_program
from corollary.planning import normalise


@pytest.mark.parametrize("name", CASES)
def test_no_structure_needs_fewer_accesses_for_the_same_results(name: str) -> None:
    case = CASES[name](5_000)
    for ours, others in ((yield_on_base, activate), (yield_on_inserted, inserted)):
        counts, done = ours(case)
        assert done.wasted == 0
        for structure in KNOWN.values():
            theirs = others(case, structure)
            assert theirs.results == counts.results
            assert counts.tuples <= theirs.tuples
        assert counts.index <= others(case, KNOWN["AAI"]).index


def test_a_closure_from_the_index_is_the_closure() -> None:
    arcs = rg(1_500)
    index = YieldIndex([normalise(parse_program(RG).rules[0])], lambda constant: 0)
    index.load("arc", arcs)
    found, module = IndexClosure(index, "rg"), LinearClosure(arcs, arcs, 3_000)
    assert set(map(tuple, found.rows().tolist())) == set(map(tuple, module.rows().tolist()))
    trees = btree.new_tree(len(arcs)), btree.new_tree(module.count)
    seen = np.zeros(1, np.int64)
    assert btree.closure(arcs, *trees, np.empty(module.count, np.int64), seen) == module.count
    assert seen[0] > found.accesses


def test_experiments_become_tables_and_charts() -> None:
    outcome = run_experiment("accesses", QUICK)
    assert not outcome.problems
    assert [len(sheet.rows) > 5 for sheet in sheets({"accesses": outcome})] == [True] * 3
    assert list(charts({"accesses": outcome})) == [f"figure-{number}" for number in range(12, 18)]
