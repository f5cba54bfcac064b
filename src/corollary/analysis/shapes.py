"""Rules of one shape: the same but for predicates, constants in atoms and places in the text.

Long programs repeat few shapes. What depends on the shape of a rule alone is found out once for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from corollary.diagnostics import Diagnostic
from corollary.program import Atom, Comparison, Constant, Negation, Rule, Term, Variable, Wildcard

Shape = tuple[object, ...]
T = TypeVar("T", bound=Term)


class ShapedRules:
    """Rules, each with its shape; those that have others than plain atoms and comparisons have none."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._shapes = [shape_of(rule) for rule in rules]

    def check(self, check: Callable[[Rule], Iterable[Diagnostic]], *, texts: bool = False) -> Iterator[Diagnostic]:
        """Yield what a check finds in each rule; where it finds nothing, it finds nothing in others of that shape.

        With `texts` that does not hold for shapes with texts: the check looks at what they say.
        """
        fine: set[Shape] = set()
        for rule, shape in zip(self.rules, self._shapes, strict=True):
            if shape in fine:
                continue
            found = list(check(rule))
            yield from found
            if shape is not None and not found and not (texts and _TEXT in shape):
                fine.add(shape)


_TEXT, _OTHER, _ANY, _IF, _NOT, _COMPARED = range(6)  # names of variables are none of them


def shape_of(rule: Rule) -> Shape | None:
    """Return the shape of a rule, None where it has other terms than variables and constants, or aggregations.

    Predicates and their constants are no part of it; the names of variables are, and constants that are compared.
    """
    found: list[object] = []
    if not _add_arguments(rule.head.arguments, found):
        return None
    for element in rule.body:
        sort = type(element)
        if sort is Negation:
            found.append(_NOT)
            element = element.element  # type: ignore[union-attr]
            sort = type(element)
        if sort is Comparison:
            sides = (element.left, element.right)  # type: ignore[union-attr]
            if any(type(side) not in (Variable, Constant) for side in sides):
                return None
            found += (_COMPARED, element.operator, *sides)  # type: ignore[union-attr]
            if any(type(side) is Constant and isinstance(side.value, str) for side in sides):
                found.append(_TEXT)
        elif sort is Atom:
            found.append(_IF)
            if not _add_arguments(element.arguments, found):  # type: ignore[union-attr]
                return None
        else:
            return None
    return tuple(found)


def _add_arguments(arguments: Iterable[Term], found: list[object]) -> bool:
    """Add the arguments of an atom to a shape; False where one is neither a variable nor a constant."""
    for argument in arguments:
        kind = type(argument)
        if kind is Variable:
            found.append(argument.name)  # type: ignore[union-attr]
        elif kind is Constant:
            found.append(_TEXT if isinstance(argument.value, str) else _OTHER)  # type: ignore[union-attr]
        elif kind is Wildcard:
            found.append(_ANY)
        else:
            return False
    return True
