"""Which steps of a transaction run next, where an engine runs several at once: what waits, what does not, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corollary.reasoning.maintain.transaction import next_wave, small_group


@dataclass(frozen=True)
class PlannedStep:
    owner: str
    heads: dict[str, int]
    inputs: frozenset[str]
    recursive: bool


def step(rule: str, *, recursive: bool = False) -> Any:
    """Make the step of `a <- b c`, which is its owner as well; several heads are `a a2 <- b`."""
    heads, _, inputs = rule.partition("<-")
    return PlannedStep(rule, dict.fromkeys(heads.split(), 1), frozenset(inputs.split()), recursive)


def always(_: Any) -> bool:
    return True


def reading(*predicates: str) -> Any:
    """Return the test of a change of these predicates."""
    return lambda one: not one.inputs.isdisjoint(predicates)


def owners(*groups: Any) -> list[list[str]]:
    return [[one.owner for one in group] for group in groups]


# -- waves -------------------------------------------------------------------------------------------------------------


def test_a_step_waits_for_what_it_reads_and_for_what_that_waits_for() -> None:
    steps = [step("a <- e"), step("b <- a"), step("c <- b"), step("d <- e")]
    assert owners(*next_wave(steps, always)) == [["a <- e", "d <- e"], ["b <- a", "c <- b"], []]


def test_a_step_that_waits_may_still_be_reached() -> None:
    steps = [step("a <- e"), step("b <- a"), step("c <- f"), step("d <- c")]
    assert owners(*next_wave(steps, reading("e"))) == [["a <- e"], ["b <- a"], ["c <- f", "d <- c"]]


def test_owners_of_one_predicate_run_together_unless_one_is_recursive() -> None:
    plain, other, circle = step("a <- e"), step("a <- f"), step("a <- a e", recursive=True)
    assert owners(*next_wave([plain, other], always)) == [["a <- e", "a <- f"], [], []]
    assert owners(*next_wave([plain, circle], always)) == [["a <- e"], ["a <- a e"], []]
    assert owners(*next_wave([circle, plain], always)) == [["a <- a e"], ["a <- e"], []]
    assert owners(*next_wave([plain, circle, other], always)) == [["a <- e"], ["a <- a e", "a <- f"], []]


def test_untouched_recursive_steps_hold_nobody_up() -> None:
    steps = [step("a <- a f", recursive=True), step("a <- e"), step("b <- a e")]
    assert owners(*next_wave(steps, reading("e"))) == [["a <- e"], ["b <- a e"], ["a <- a f"]]


# -- small groups ------------------------------------------------------------------------------------------------------


def small(*large: str) -> Any:
    return lambda one: one.owner not in large


def test_a_group_goes_on_through_what_its_steps_give() -> None:
    steps = [step("a <- e"), step("b <- a"), step("c <- f")]
    assert owners(*small_group(steps, [], reading("e"), always)) == [["a <- e", "b <- a"], ["c <- f"]]


def test_what_reads_a_large_step_waits_with_it_although_the_group_reaches_it() -> None:
    steps = [step("a <- e"), step("b <- e"), step("c <- a b"), step("d <- c a"), step("f <- a")]
    group, rest = small_group(steps, [], reading("e"), small("b <- e"))
    assert owners(group, rest) == [["a <- e", "f <- a"], ["b <- e", "c <- a b", "d <- c a"]]


def test_what_a_waiting_step_may_give_reaches_nobody_in_the_group() -> None:
    steps = [step("b <- e"), step("c <- b"), step("d <- g")]
    assert owners(*small_group(steps, [], reading("e", "g"), small("b <- e"))) == [["d <- g"], ["b <- e", "c <- b"]]


def test_a_recursive_step_waits_for_another_owner_of_its_predicate() -> None:
    steps = [step("a <- e"), step("a c <- f", recursive=True), step("b <- f", recursive=True)]
    assert owners(*small_group(steps, [], always, small("a <- e"))) == [["b <- f"], ["a <- e", "a c <- f"]]


def test_owners_of_one_predicate_may_be_in_the_group_and_outside_if_none_is_recursive() -> None:
    steps = [step("a <- e"), step("a <- f"), step("b <- e")]
    assert owners(*small_group(steps, [], always, small("a <- e"))) == [["a <- f", "b <- e"], ["a <- e"]]


def test_no_recursive_step_outside_owns_a_predicate_of_the_group() -> None:
    """It would have to be asked about facts that go; what reads such a predicate waits, too."""
    later, plain, reader, free = step("a <- a g", recursive=True), step("a <- e"), step("b <- a"), step("c <- e")
    group, rest = small_group([plain, reader, free, later], [], reading("e", "g"), small("a <- a g"))
    assert owners(group, rest) == [["c <- e"], ["a <- e", "b <- a", "a <- a g"]]
    group, rest = small_group([plain, reader, free], [later], reading("e"), always)
    assert owners(group, rest) == [["c <- e"], ["a <- e", "b <- a"]]
    group, rest = small_group([plain, reader, free], [step("a <- h")], reading("e"), always)
    assert owners(group, rest) == [["a <- e", "b <- a", "c <- e"], []]


def test_a_step_with_several_predicates_is_left_out_for_one_of_them() -> None:
    finished = step("a <- a g", recursive=True)
    steps = [step("b a <- e"), step("d <- b"), step("f <- e")]
    assert owners(*small_group(steps, [finished], reading("e"), always)) == [["f <- e"], ["b a <- e", "d <- b"]]
