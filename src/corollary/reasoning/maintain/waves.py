"""Which steps run next, where an engine runs several at once: those that need nothing of each other, or small ones in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from corollary.engines.base import MaintainedStep

Test = Callable[[MaintainedStep], bool]


def next_wave(
    remaining: Sequence[MaintainedStep], is_affected: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep], list[MaintainedStep]]:
    """Steps that can run now, what is left for later, and what a change does not reach.

    No other owner of its predicates runs with a recursive step.
    """
    wave: list[MaintainedStep] = []
    later: list[MaintainedStep] = []
    untouched: list[MaintainedStep] = []
    unfinished: set[str] = set()
    of_recursive: set[str] = set()
    for step in remaining:
        heads = set(step.heads)
        waits = bool(step.inputs & unfinished) or bool(heads & (unfinished if step.recursive else of_recursive))
        if not waits and not is_affected(step):
            untouched.append(step)
            continue
        (later if waits else wave).append(step)
        unfinished |= heads
        of_recursive |= heads if step.recursive else set()
    return wave, later, untouched


def small_group(
    remaining: Sequence[MaintainedStep], finished: Sequence[MaintainedStep], is_affected: Test, is_small: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep]]:
    """Small steps that a change may reach, one through another, and all others.

    `finished` are recursive steps. Those outside of the group own none of its predicates: they would have to be asked about facts
    that go, before others in the group read them.
    """
    excluded: set[str] = set()

    def is_allowed(step: MaintainedStep) -> bool:
        return is_small(step) and not _meets(step.heads, excluded)

    while True:
        group, rest = _reached(remaining, is_affected, is_allowed)
        heads = {name for step in group for name in step.heads}
        shared = {name for step in (*rest, *finished) if step.recursive for name in step.heads} & heads
        if not shared:
            return group, rest
        excluded.update(shared)


def _reached(
    remaining: Sequence[MaintainedStep], is_affected: Test, is_allowed: Test
) -> tuple[list[MaintainedStep], list[MaintainedStep]]:
    group: list[MaintainedStep] = []
    rest: list[MaintainedStep] = []
    given: set[str] = set()
    uncertain: set[str] = set()
    for step in remaining:
        heads = set(step.heads)
        if not is_affected(step) and not _meets(step.inputs, given, uncertain):
            rest.append(step)
        elif not _waits(step, uncertain) and is_allowed(step):
            group.append(step)
            given |= heads
        else:
            rest.append(step)
            uncertain |= heads
    return group, rest


def _waits(step: MaintainedStep, uncertain: Collection[str]) -> bool:
    return _meets(step.inputs, uncertain) or (step.recursive and _meets(step.heads, uncertain))


def _meets(names: Collection[str], *others: Collection[str]) -> bool:
    return any(name in other for name in names for other in others)
