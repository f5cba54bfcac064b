"""User-defined modules: rules of a recursive hyper-node that follow changes through four functions (paper 002, section
4).

A module takes rules of a certain shape that an algorithm can maintain for less than the cost of all their instances. It
is called in every round beside the other rules of the hyper-node, which need not know about it. How its functions find
their results is up to the module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from corollary.planning import NormalRule

if TYPE_CHECKING:
    from corollary.engines.base import StepFacts

AnyFacts: TypeAlias = "StepFacts[Any, Any]"
Some = Mapping[str, Any]
"""Facts by predicate, in the engine's form: `StepFacts.arrays` returns their constants, `StepFacts.heads` is the inverse."""


class StepModule(Protocol):
    """The four functions of a module. Each result is heads by predicate, as `StepFacts.derive` returns them; known
    facts may be among them."""

    def diff(self, facts: AnyFacts, *, lost: bool) -> Some:
        """Return what the rules lose (or, with `lost=False`, gain) in one step by the changes of other hyper-nodes."""
        ...

    def add(self, facts: AnyFacts, new: Some) -> Some:
        """Return everything that follows from the new facts, in one step or more."""
        ...

    def overdelete(self, facts: AnyFacts, deleted: Some) -> Some:
        """Return everything that may depend on the deleted facts, in one step or more; it may include facts with other
        support."""
        ...

    def rederive(self, facts: AnyFacts, deleted: Some) -> Some:
        """Return the deleted facts that follow from visible ones, in one step or more."""
        ...


FindRules = Callable[[Sequence[NormalRule]], Collection[str]]
"""Returns the names of the rules of a recursive hyper-node that a module takes; none if none have its shape."""
MakeModule = Callable[[Sequence[NormalRule]], StepModule]
"""Makes the module for the rules that it takes."""


@dataclass(frozen=True)
class FollowedModule:
    """A registered module in a step, with the names of the rules it `takes`."""

    name: str
    takes: frozenset[str]
    functions: StepModule


Registered: TypeAlias = Mapping[str, tuple[FindRules, MakeModule]]
"""By name: the functions that find the rules of a module and make it."""
_REGISTERED: dict[str, tuple[FindRules, MakeModule]] = {}


def register_module(name: str, find: FindRules, make: MakeModule) -> None:
    """Register a module for rules of a shape, for every knowledge base that this process creates from now on.

    Modules that were registered earlier choose their rules first. Registering a name again replaces its module.
    """
    _REGISTERED[name] = find, make


def forget_module(name: str) -> None:
    """Undo `register_module`; knowledge bases that already use the module keep it."""
    _REGISTERED.pop(name, None)


def registered_modules() -> Registered:
    """Return the modules that are currently registered."""
    return dict(_REGISTERED)


def modules_among(rules: Sequence[NormalRule], registered: Registered) -> tuple[FollowedModule, ...]:
    """Return the modules for the rules of a recursive hyper-node."""
    found, left = [], list(rules)
    for name, (find, make) in registered.items():
        taken = frozenset(find(left))
        if taken:
            found.append(FollowedModule(name, taken, make([rule for rule in left if rule.name in taken])))
            left = [rule for rule in left if rule.name not in taken]
    return tuple(found)
