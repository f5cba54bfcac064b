"""Programs with terms, lists, unsafe rules and equality in heads as clingo's text: an oracle that shares no line with Corollary.

A list is nested pairs; a negated literal becomes the absence of an instance of it; equality is a predicate with its axioms; an
unlimited variable ranges over a predicate that has all constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import clingo

from corollary.program import (
    EQUALITY,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    ListTerm,
    Negation,
    Program,
    Structure,
    Term,
    Value,
    Variable,
    element_variables,
    subterms,
)

Facts = dict[str, set[str]]


class UnsafeForClingo(Exception):
    """clingo does not see that a variable has a value."""


def stable_model(program: Program, *, unsafe: bool = False) -> Facts:
    """The facts of the one stable model by predicate, each as clingo writes it."""
    control = clingo.Control(["--warn=none", "--models=2"], logger=lambda *_: None)
    try:
        control.add("base", [], "\n".join(_lines(program, unsafe)))
        control.ground([("base", [])], context=_Context())
    except RuntimeError as error:
        raise UnsafeForClingo from error
    with control.solve(yield_=True) as handle:
        (model,) = [model.symbols(atoms=True) for model in handle]
    found: Facts = {}
    for symbol in model:
        if not symbol.name.startswith("aux"):
            found.setdefault(symbol.name, set()).add(_row(map(str, symbol.arguments)))
    return found


class _Context:
    def proper(self, tail: clingo.Symbol) -> clingo.Symbol:
        """Whether pairs end with the empty list: a list cannot end with anything else."""
        while tail.type == clingo.SymbolType.Function and tail.name == "pair":
            tail = tail.arguments[1]
        return clingo.Number(int(tail == clingo.Function("nil")))


def row_text(row: Iterable[Value]) -> str:
    """A fact as the model has it."""
    return _row(map(_value, row))


def _row(arguments: Iterable[str]) -> str:
    return ",".join(argument.replace(" ", "") for argument in arguments)


def _lines(program: Program, unsafe: bool) -> Iterator[str]:
    arities = {block.predicate: block.arity for block in program.facts}
    arities |= {atom.predicate: atom.arity for rule in program.rules for atom in _atoms(rule.head, rule.body)}
    for block in program.facts:
        yield from (f"{_name(block.predicate)}({', '.join(map(_value, row))})." for row in block.rows)
    for number, rule in enumerate(program.rules):
        yield from _rule(rule.head, rule.body, f"aux{number}", unsafe)
    if unsafe:
        yield from (f"auxany({constant})." for constant in sorted(_constants(program)))
    if EQUALITY in arities:
        yield from _equality(arities)


def _equality(arities: dict[str, int]) -> Iterator[str]:
    yield "auxeq(Y, X) :- auxeq(X, Y). auxeq(X, Z) :- auxeq(X, Y), auxeq(Y, Z)."
    for name, arity in arities.items():
        for place in range(arity if name != EQUALITY else 0):
            before = [f"X{at}" for at in range(arity)]
            after = ["Y" if at == place else one for at, one in enumerate(before)]
            yield f"{name}({', '.join(after)}) :- {name}({', '.join(before)}), auxeq(X{place}, Y)."


def _rule(head: Atom, body: Iterable[BodyElement], name: str, unsafe: bool) -> Iterator[str]:
    elements = list(body)
    plain = [_literal(one) for one in elements if not isinstance(one, Negation)]
    limited = {one for element in elements if not isinstance(element, Negation) for one in _variables(element)}
    negated = [one.element for one in elements if isinstance(one, Negation)]
    everywhere = {part.name for term in head.arguments for part in subterms(term) if isinstance(part, Variable)}
    for number, element in enumerate(negated):
        others = [set(_variables(other)) for at, other in enumerate(negated) if at != number]
        shared = limited.union(everywhere if unsafe else set(), *(others if unsafe else []))
        kept = sorted(shared & set(_variables(element)))
        hidden = f"{name}_{number}" + (f"({', '.join('V' + one for one in kept)})" if kept else "")
        ranges = [f"auxany(V{one})" for one in kept] if unsafe else []
        given = [*ranges, _literal(element)] if isinstance(element, Atom) else [*plain, *ranges, _literal(element)]
        yield f"{hidden} :- {', '.join(given)}."
        plain.append(f"not {hidden}")
        everywhere |= set(kept)
    if unsafe:
        plain += [f"auxany(V{one})" for one in sorted(everywhere | limited)]
    terms = [
        *head.arguments,
        *(side for one in elements if isinstance(one, Comparison) for side in (one.left, one.right)),
    ]
    parts = [part for term in terms for part in subterms(term)]
    plain += [f"@proper({_term(part.tail)}) = 1" for part in parts if isinstance(part, ListTerm) and _is_open(part)]
    yield f"{_literal(head)} :- {', '.join(plain)}."


def _is_open(term: ListTerm) -> bool:
    return term.tail is not None and _term(term.tail) != "_"


def _literal(element: BodyElement) -> str:
    match element:
        case Atom():
            return f"{_name(element.predicate)}({', '.join(map(_term, element.arguments))})"
        case Comparison():
            return f"{_term(element.left)} {element.operator} {_term(element.right)}"
        case _:
            raise AssertionError(element)


def _name(predicate: str) -> str:
    return "auxeq" if predicate == EQUALITY else predicate


def _term(term: Term) -> str:
    match term:
        case Variable():
            return f"V{term.name}"
        case Constant():
            return _value(term.value)
        case FunctionTerm():
            return f"{term.name}({', '.join(map(_term, term.arguments))})"
        case ListTerm():
            text = _term(term.tail) if term.tail is not None else "nil"
            for item in reversed(term.items):
                text = f"pair({_term(item)}, {text})"
            return text
        case _:
            return "_"


def _value(value: Value) -> str:
    match value:
        case Structure():
            return f"{value.name}({', '.join(map(_value, value.arguments))})"
        case tuple():
            text = "nil"
            for item in reversed(value):
                text = f"pair({_value(item)}, {text})"
            return text
        case _:
            return str(value)


def _variables(element: BodyElement) -> list[str]:
    return [variable.name for variable in element_variables(element)]


def _atoms(head: Atom, body: Iterable[BodyElement]) -> Iterator[Atom]:
    for one in (head, *(one.element if isinstance(one, Negation) else one for one in body)):
        if isinstance(one, Atom):
            yield one


def _constants(program: Program) -> set[str]:
    found = {_value(value) for block in program.facts for row in block.rows for value in row}
    for rule in program.rules:
        for element in (rule.head, *(one.element if isinstance(one, Negation) else one for one in rule.body)):
            terms = element.arguments if isinstance(element, Atom) else (element.left, element.right)  # type: ignore[union-attr]
            found |= {_value(part.value) for term in terms for part in subterms(term) if isinstance(part, Constant)}
    return found
