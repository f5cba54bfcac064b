"""Whether a rule's head can produce a fact that an atom of a body can use."""

from __future__ import annotations

from corollary.program import (
    Atom,
    Constant,
    FunctionTerm,
    ListTerm,
    Structure,
    Term,
    Variable,
    find_function,
)

_Key = tuple[str, str]


def may_unify(head: Atom, atom: Atom) -> bool:
    """False only when no fact can be an instance of both; their variables are taken apart, whatever their names."""
    if head.predicate != atom.predicate or head.arity != atom.arity:
        return False
    bound: dict[_Key, tuple[str, Term]] = {}
    todo = [(("head", mine), ("atom", theirs)) for mine, theirs in zip(head.arguments, atom.arguments, strict=True)]
    while todo:
        left, right = (_resolve(side, bound) for side in todo.pop())
        pairs = _match(left, right, bound)
        if pairs is None:
            return False
        todo.extend(pairs)
    return True


_Sided = tuple[str, Term]


def _resolve(sided: _Sided, bound: dict[_Key, _Sided]) -> _Sided:
    while isinstance(sided[1], Variable) and (found := bound.get((sided[0], sided[1].name))):
        sided = found
    return sided


def _match(left: _Sided, right: _Sided, bound: dict[_Key, _Sided]) -> list[tuple[_Sided, _Sided]] | None:
    """The pairs that must match for these two to match; None when they cannot."""
    mine, theirs = left[1], right[1]
    if isinstance(mine, Variable):
        if not (left[0] == right[0] and mine == theirs):
            bound[left[0], mine.name] = right
        return []
    if isinstance(theirs, Variable):
        bound[right[0], theirs.name] = left
        return []
    if _is_open(mine) or _is_open(theirs):
        return []
    if isinstance(mine, Constant) and isinstance(theirs, Constant):
        return [] if mine == theirs else None
    if isinstance(mine, FunctionTerm) and isinstance(theirs, FunctionTerm):
        if (mine.name, len(mine.arguments)) != (theirs.name, len(theirs.arguments)):
            return None
        return [((left[0], a), (right[0], b)) for a, b in zip(mine.arguments, theirs.arguments, strict=True)]
    if isinstance(mine, ListTerm) and isinstance(theirs, ListTerm):
        closed = mine.tail is None and theirs.tail is None
        return None if closed and len(mine.items) != len(theirs.items) else []
    return [] if _same_shape(mine, theirs) or _same_shape(theirs, mine) else None


def _is_open(term: Term) -> bool:
    """Arithmetic, built-in functions, aggregates and `_` can be any value."""
    if isinstance(term, FunctionTerm):
        return find_function(term.name) is not None
    return not isinstance(term, (Variable, Constant, ListTerm))


def _same_shape(constant: Term, pattern: Term) -> bool:
    if not isinstance(constant, Constant):
        return False
    if isinstance(pattern, ListTerm):
        return isinstance(constant.value, tuple)
    return isinstance(pattern, FunctionTerm) and isinstance(constant.value, Structure)
