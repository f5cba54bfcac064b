"""What the workloads expect, and what they say when they do not get it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.cache import input_directory
from benchmarks.child import measure
from benchmarks.ontology import axioms, program
from benchmarks.runner import WorkloadFailed, run_workload
from benchmarks.workloads import WORKLOADS, Workload, by_name, zodiac_counts
from corollary.analysis import analyse_texts
from corollary.diagnostics import Source

SMALL = ("tc-small", "builtins-path-200", "zodiac-rs1", "zodiac-rs2", "zodiac-rs3", "tc-random", "stc-ring", "lubm-1")
every_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)


def test_names_are_unique() -> None:
    assert len(by_name()) == len(WORKLOADS)


@every_workload
def test_programs_have_no_errors(workload: Workload) -> None:
    assert not analyse_texts(Source(workload.program)).errors


@every_workload
def test_every_workload_expects_some_number(workload: Workload) -> None:
    assert workload.total or {**workload.counts, **workload.queries}


def test_closed_forms_give_the_published_totals() -> None:
    assert sum(zodiac_counts(200, negation=False).values()) == 424_300
    assert sum(zodiac_counts(200, negation=True).values()) == 423_101
    paths = [by_name()[f"builtins-path-{limit}"].counts["path"] for limit in (200, 400, 800, 1000)]
    assert paths == [20_301, 80_601, 321_201, 501_501]


def test_the_ontology_has_128_rules_and_two_groups_for_experiments() -> None:
    assert len(program().splitlines()) == 128
    sizes = {group: sum(group in axiom.groups for axiom in axioms()) for group in ("random", "late")}
    assert sizes == {"random": 8, "late": 16}


def test_axioms_become_rules() -> None:
    rules = program().splitlines()
    assert "advisor(X, Y) :- src_advisor(X, Y)." in rules
    assert "Professor(Y) :- advisor(X, Y)." in rules
    assert "hasAlumnus(Y, X) :- degreeFrom(X, Y)." in rules
    assert "subOrganizationOf(X, Z) :- subOrganizationOf(X, Y), subOrganizationOf(Y, Z)." in rules
    assert "Dean(X) :- headOf(X, Y), College(Y)." in rules
    assert "Chair(X) :- Person(X), headOf(X, Y), Department(Y)." in rules


@pytest.mark.parametrize("name", SMALL)
def test_small_workloads_give_the_expected_numbers(name: str, tmp_path: Path) -> None:
    workload = by_name()[name]
    measurement = measure(workload, input_directory(workload.input, tmp_path), "embedded")
    assert measurement.wrong == []
    assert measurement.facts_stored > measurement.facts_loaded
    assert measurement.wall == pytest.approx(measurement.load + measurement.derive + measurement.count)
    assert measurement.peak_mb <= measurement.rows_peak_mb


def test_a_wrong_number_is_told_with_both_numbers(tmp_path: Path) -> None:
    right = by_name()["tc-small"]
    workload = Workload("wrong", right.program, right.input, {"path": 1}, {"path(0, X)": 7}, total=2)
    measurement = measure(workload, input_directory(workload.input, tmp_path), "embedded")
    assert measurement.wrong == [
        "path: 20,100 answers, not 1",
        "path(0, X): 200 answers, not 7",
        "20,100 facts in all, not 2",
    ]


def test_a_workload_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    measurement = run_workload(by_name()["tc-small"], runs=1, cache=tmp_path)
    assert (measurement.workload, measurement.counts, measurement.wrong) == ("tc-small", {"path": 20_100}, [])
    assert measurement.peak_mb >= measurement.baseline_mb > 0
    assert measurement.process > measurement.wall
    assert measurement.process_mb > 50


def test_a_failing_workload_is_told_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(WorkloadFailed, match=re.escape("there is no engine 'steam'")):
        run_workload(by_name()["tc-small"], engine="steam", runs=1, cache=tmp_path)
