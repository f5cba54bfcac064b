"""Programs of the CLINGO profile as clingo's text, and clingo's answer: an oracle that shares no line with Corollary.

clingo's `/` and `\\` truncate as `div` and `%` do, and what has no value drops the instance there too. Three things differ:

- an existential variable or `_` under negation becomes a projection: `not e(X, U)` is `not aux(X)` with `aux(V0) :- e(V0, _).`
- a negated comparison holds where a side has no value: it is the absence of an instance for which the comparison holds;
- an aggregate ranges over the distinct bindings of the body: the bindings are a predicate of their own, with the group and
  the aggregated values as columns, and only a group that has a member gives a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import clingo

from corollary.program import (
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    Minus,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    element_variables,
)

OPERATORS = {"div": "/", "%": "\\"}
AUXILIARY = "aux"


def consequences(program: Program) -> dict[str, set[tuple[int, ...]]]:
    """The facts that hold in the one stable model of the program, by predicate; empty relations are left out."""
    control = clingo.Control(["--warn=none"], message_limit=0)
    control.add("base", [], clingo_text(program))
    control.ground([("base", [])])
    models: list[dict[str, set[tuple[int, ...]]]] = []
    with control.solve(yield_=True) as handle:
        models.extend(_facts(model.symbols(atoms=True)) for model in handle)
    (model,) = models
    return model


def _facts(symbols: Iterable[clingo.Symbol]) -> dict[str, set[tuple[int, ...]]]:
    found: dict[str, set[tuple[int, ...]]] = {}
    for symbol in symbols:
        if not symbol.name.startswith(AUXILIARY):
            found.setdefault(symbol.name, set()).add(tuple(argument.number for argument in symbol.arguments))
    return found


def clingo_text(program: Program) -> str:
    translation = _Translation()
    for block in program.facts:
        for row in block.rows:
            translation.lines.append(_call(block.predicate, map(str, row)) + ".")
    for rule in program.rules:
        translation.rule(rule)
    return "\n".join(translation.lines)


@dataclass
class _Translation:
    lines: list[str] = field(default_factory=list)
    _names: int = 0

    def rule(self, rule: Rule) -> None:
        if not rule.has_head_aggregate:
            self._add(_atom(rule.head), self._body(rule.body))
            return
        keys = [term for term in rule.head.arguments if not isinstance(term, AggregateTerm)]
        names = [f"Key{number}" for number in range(len(keys))]
        aggregates = [term for term in rule.head.arguments if isinstance(term, AggregateTerm)]
        operations = [
            AggregateOperation(term.function, term.argument, Variable(f"Result{number}"), term.distinct)
            for number, term in enumerate(aggregates)
        ]
        key, result = iter(names), (operation.result.name for operation in operations)
        arguments = [next(result if isinstance(term, AggregateTerm) else key) for term in rule.head.arguments]
        body = self._aggregates(rule.body, dict(zip(names, keys, strict=True)), operations)
        self._add(_call(rule.head.predicate, arguments), body)

    def _body(self, body: Sequence[BodyElement]) -> list[str]:
        plain = [element for element in body if not isinstance(element, Negation)]
        texts = [text for element in plain for text in self._element(element)]
        limited = _variables(plain)
        for element in body:
            if isinstance(element, Negation) and isinstance(element.element, Atom):
                texts.append(self._negated_atom(element.element, limited))
        for element in body:
            if isinstance(element, Negation) and isinstance(element.element, Comparison):
                before, holds = self._name(limited), self._name(limited)
                self._add(before, texts)
                self._add(holds, [before, _comparison(element.element)])
                texts = [before, f"not {holds}"]
        return texts

    def _element(self, element: BodyElement) -> Iterator[str]:
        match element:
            case Atom():
                yield _atom(element)
            case Comparison():
                yield _comparison(element)
            case Assignment():
                yield f"{element.variable.name} = {_term(element.expression)}"
            case Aggregation():
                groups = {variable.name: variable for variable in element.group_by}
                yield from self._aggregates(element.body, groups, element.operations)

    def _negated_atom(self, atom: Atom, limited: Sequence[str]) -> str:
        """The projection of the predicate to the arguments that have a value."""
        kept: list[tuple[str, str]] = []
        pattern: list[str] = []
        for number, term in enumerate(atom.arguments):
            if isinstance(term, Variable) and term.name not in limited:
                pattern.append(term.name)
            elif _term(term) == "_":
                pattern.append("_")
            else:
                pattern.append(f"Column{number}")
                kept.append((pattern[-1], _term(term)))
        self._names += 1
        name = f"{AUXILIARY}{self._names}"
        self._add(_call(name, [column for column, _ in kept]), [_call(atom.predicate, pattern)])
        return f"not {_call(name, [value for _, value in kept])}"

    def _aggregates(
        self, body: Sequence[BodyElement], keys: Mapping[str, Term], operations: Sequence[AggregateOperation]
    ) -> list[str]:
        """What gives the keys of a group their names and each operation's result its value.

        `bindings` are the distinct bindings of the body's named variables, `valued` adds the group and the values to them.
        """
        columns = _variables([element for element in body if not isinstance(element, Negation)])
        bindings = self._name(columns)
        self._add(bindings, self._body(body))
        self._names += 1
        valued = f"{AUXILIARY}{self._names}"
        groups, own = [f"Group{name}" for name in keys], [f"Own{name}" for name in columns]
        values = [f"Value{number}" for number in range(len(operations))]
        terms = [*keys.values(), *(operation.argument for operation in operations)]
        computed = [f"{name} = {_term(term)}" for name, term in zip([*groups, *values], terms, strict=True)]
        self._add(_call(valued, [*groups, *columns, *values]), [bindings, *computed])
        texts = [_call(valued, [*keys, *["_"] * len(own + values)])]
        for value, operation in zip(values, operations, strict=True):
            counted = ", ".join([value] if operation.distinct else [value, *own])
            members = _call(valued, [*keys, *own, *values])
            texts.append(f"{operation.result.name} = #{operation.function} {{ {counted} : {members} }}")
        return texts

    def _name(self, variables: Sequence[str]) -> str:
        self._names += 1
        return _call(f"{AUXILIARY}{self._names}", variables)

    def _add(self, head: str, body: Sequence[str]) -> None:
        self.lines.append(f"{head} :- {', '.join(body)}." if body else f"{head}.")


def _variables(elements: Iterable[BodyElement]) -> list[str]:
    return list(dict.fromkeys(variable.name for element in elements for variable in element_variables(element)))


def _call(name: str, arguments: Iterable[str]) -> str:
    inside = ", ".join(arguments)
    return f"{name}({inside})" if inside else name


def _atom(atom: Atom) -> str:
    return _call(atom.predicate, map(_term, atom.arguments))


def _comparison(comparison: Comparison) -> str:
    return f"{_term(comparison.left)} {comparison.operator} {_term(comparison.right)}"


def _term(term: Term) -> str:
    match term:
        case Variable():
            return term.name
        case Constant():
            return str(term.value)
        case Arithmetic():
            return f"({_term(term.left)} {OPERATORS.get(term.operator, term.operator)} {_term(term.right)})"
        case Minus():
            return f"(-{_term(term.operand)})"
        case FunctionTerm(name="abs"):
            return f"|{_term(term.arguments[0])}|"
        case _:
            return "_"
