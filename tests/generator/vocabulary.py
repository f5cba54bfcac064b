"""The predicates of generated programs. They are fixed, and so are their layers.

Layer 0 (`e0 e1 e2 f2 e3`) is never derived. A rule of layer n has its head there, its positive atoms there or below, and
what it negates or aggregates strictly below: programs are stratified by construction, whatever rules come and go.
The digit in a name is the arity. `l(1, X)`, `l(2, X)`, `l(3, X)` belong to layers 1, 2 and 3: the constant separates them,
so that `l` negates itself and is stratified all the same (paper 001's local stratification).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corollary.program import Atom, Constant, Term
from tests.generator.profile import Profile

LAYERS = (1, 2, 3)


@dataclass(frozen=True)
class Symbol:
    """A predicate, or the part of one that a constant first argument (`tag`) cuts out; `arity` doesn't count the tag."""

    predicate: str
    arity: int
    layer: int
    tag: int | None = None

    def atom(self, arguments: Sequence[Term]) -> Atom:
        tag = () if self.tag is None else (Constant(self.tag),)
        return Atom(self.predicate, (*tag, *arguments))

    @property
    def width(self) -> int:
        """The number of columns of its facts."""
        return self.arity + (self.tag is not None)


def _symbol(name: str, layer: int) -> Symbol:
    return Symbol(name, int(name[-1]), layer)


_NAMES = ("e2 e1 f2 e3 e0", "p2 p1 s2 p3 p0", "q2 q1 t2 q3 q0", "r1 r2 r3 r0")
# By layer; the first two are the ones that rules use most.
SYMBOLS = [tuple(_symbol(name, layer) for name in names.split()) for layer, names in enumerate(_NAMES)]
LOCAL = {layer: Symbol("l", 1, layer, tag=layer) for layer in LAYERS}


def heads(profile: Profile, layer: int) -> tuple[Symbol, ...]:
    """The symbols that rules of a layer derive; the likely ones, here and below, stand more than once."""
    local = (LOCAL[layer],) if profile.local_stratification else ()
    return (*SYMBOLS[layer][:2] * 5, *SYMBOLS[layer][2:], *local)


def below(profile: Profile, layer: int) -> tuple[Symbol, ...]:
    """The symbols of the layers below one: of atoms that are negated, aggregated or computed with."""
    found = [*SYMBOLS[0][:2] * 6, *SYMBOLS[0][2:]]
    for lower in range(1, layer):
        found += heads(profile, lower)
    return tuple(found)


def positive(profile: Profile, layer: int) -> tuple[Symbol, ...]:
    """The symbols of positive atoms of a rule of a layer."""
    own = heads(profile, layer)[-6:] if profile.recursion else ()
    return (*below(profile, layer), *own)


def binary(layer: int) -> tuple[Symbol, ...]:
    return tuple(symbol for symbol in SYMBOLS[layer] if symbol.arity == 2)


def stated(profile: Profile, number: int) -> tuple[Symbol, ...]:
    """The symbols of a program's n-th fact: two in three are of `e2` and `e1`; some are of derived predicates."""
    if number % 3 < 2:
        return SYMBOLS[0][:1] if number % 5 < 3 else SYMBOLS[0][1:2]
    derived = [symbol for layer in LAYERS for symbol in SYMBOLS[layer][:2]]
    local = (LOCAL[1],) if profile.local_stratification else ()
    return (*SYMBOLS[0][2:] * 2, *derived, *derived[:4], *local)
