"""Canonical text: `parse(print(p)) == p` for every program that the parser can return."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from corollary.language.literals import STANDARD_PREFIXES
from corollary.program import (
    EQUALITY,
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Clause,
    Comparison,
    Constant,
    FactBlock,
    FunctionDeclaration,
    FunctionTerm,
    InputDeclaration,
    Iri,
    ListTerm,
    Literal,
    Minus,
    Negation,
    OutputDeclaration,
    Part,
    PrefixDeclaration,
    Program,
    Query,
    Rule,
    Statement,
    Structure,
    Term,
    Value,
    Variable,
    Wildcard,
)
from corollary.program.arities import SizedName
from corollary.program.builtins import is_condition
from corollary.program.values import XSD

WIDTH = 110
_WORDS = {"true", "false", "not", "naf", "and", "div", "mod", "as", "on", "with", "distinct"}
_SYMBOL = re.compile(r"[a-z][A-Za-z0-9_]*")
_NAME = re.compile(r"[^\W\d_]\w*")
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
# `<,` and `<=(` are comparators, as in COMP(X, <, Y) and <=(X, Y).
_COMPARATOR = re.compile(r"^(=?)([,(])")
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "div": 2, "%": 2}
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def print_program(program: Program) -> str:
    """Return the whole program, one clause after the other; a printed program has no comments."""
    printer = Printer()
    return "".join(line + "\n" for statement in program.statements for line in printer.statement(statement))


def print_rule(rule: Rule, prefixes: dict[str, str] | None = None) -> str:
    """Return one rule, `head :- body.`, on one line without its name."""
    printer = Printer(prefixes)
    return printer.rule([rule.head], rule.body, width=None)


def print_element(element: BodyElement | Atom, prefixes: dict[str, str] | None = None) -> str:
    return Printer(prefixes).element(element)


def print_term(term: Term, prefixes: dict[str, str] | None = None) -> str:
    return Printer(prefixes).term(term)


def print_value(value: Value, prefixes: dict[str, str] | None = None) -> str:
    """Return a constant as it is written in a program."""
    return Printer(prefixes).value(value)


class Printer:
    """Prints statements in order; prefixes are used from their declaration on."""

    def __init__(self, prefixes: dict[str, str] | None = None) -> None:
        self._prefixes = {**STANDARD_PREFIXES, **(prefixes or {})}

    def statement(self, statement: Statement) -> Iterator[str]:
        """Yield the lines of one statement."""
        match statement:
            case FactBlock():
                for row in statement.rows:
                    yield self._stated(statement.predicate, map(self.value, row)) + "."
            case Clause():
                name = f"{statement.name}: " if statement.name else ""
                yield from self.rule(statement.heads, statement.body, name).split("\n")
            case Query():
                yield f"?- {self._joined(statement.body)}."
            case PrefixDeclaration():
                self._prefixes[statement.name] = statement.iri
                yield f"@prefix {statement.name}: {_bracketed(statement.iri)} ."
            case InputDeclaration() | OutputDeclaration():
                yield self._source(statement)
            case FunctionDeclaration():
                yield f"@function {self.value(statement.name)}/{statement.arity} ."

    def rule(
        self, heads: Iterable[Atom], body: Iterable[BodyElement], name: str = "", width: int | None = WIDTH
    ) -> str:
        head = name + ", ".join(map(self.element, heads))
        elements = [self.element(element) for element in body]
        if not elements:
            return head + "."
        line = f"{head} :- {', '.join(elements)}."
        if width is None or len(line) <= width:
            return line
        return f"{head} :-\n    " + ",\n    ".join(elements) + "."

    def _source(self, declaration: InputDeclaration | OutputDeclaration) -> str:
        word = "input" if isinstance(declaration, InputDeclaration) else "output"
        arguments = [] if declaration.location is None else [_quoted(declaration.location)]
        arguments += [f"{key} = {self.value(value)}" for key, value in declaration.options]
        if arguments:
            return f"@{word} {self._applied(declaration.predicate, arguments)} ."
        name = declaration.predicate
        name = name.written if isinstance(name, SizedName) else name
        return f"@{word} {_bracketed(name) if name in ('true', 'false') else self._name(name)} ."

    # -- bodies -----------------------------------------------------------------------------------------------------

    def element(self, element: BodyElement) -> str:
        match element:
            case Atom():
                return self._stated(element.predicate, self._arguments(element))
            case Comparison(operator="=", left=FunctionTerm() as call, right=Constant(value=True)) if is_condition(
                call.name
            ):
                return self.term(call)
            case Comparison():
                return f"{self.term(element.left)} {element.operator} {self.term(element.right)}"
            case Negation():
                return f"not {self.element(element.element)}"
            case Assignment():
                return f"BIND({self.term(element.expression)} AS {self.term(element.variable)})"
            case Aggregation():
                return self._aggregation(element)

    def _stated(self, predicate: str, arguments: Iterable[str]) -> str:
        return " = ".join(arguments) if predicate == EQUALITY else self._applied(predicate, arguments)

    def _arguments(self, atom: Atom) -> Iterator[str]:
        for place, argument in enumerate(atom.arguments):
            yield f"{'@' if place == atom.location else ''}{self.term(argument)}"

    def _joined(self, elements: Iterable[BodyElement]) -> str:
        return ", ".join(map(self.element, elements))

    def _aggregation(self, aggregation: Aggregation) -> str:
        groups = f" ON {', '.join(map(self.term, aggregation.group_by))}" if aggregation.group_by else ""
        operations = " ".join(self._operation(operation) for operation in aggregation.operations)
        return f"AGGREGATE({self._joined(aggregation.body)}){groups} {operations}"

    def _operation(self, operation: AggregateOperation) -> str:
        distinct = "distinct " if operation.distinct else ""
        call = f"{operation.function.upper()}({distinct}{self.term(operation.argument)})"
        return f"WITH {call} AS {self.term(operation.result)}"

    # -- terms ------------------------------------------------------------------------------------------------------

    def term(self, term: Term) -> str:
        match term:
            case Variable():
                return _variable(term.name)
            case Wildcard():
                return "_"
            case Constant():
                return self.value(term.value)
            case Arithmetic():
                return self._arithmetic(term)
            case Minus():
                operand = self.term(term.operand)
                return f"-({operand})" if isinstance(term.operand, Arithmetic) else f"-{operand}"
            case FunctionTerm():
                return self._applied(term.name, map(self.term, term.arguments), force=True)
            case ListTerm():
                tail = f" | {self.term(term.tail)}" if term.tail is not None else ""
                return f"[{', '.join(map(self.term, term.items))}{tail}]"
            case AggregateTerm():
                return f"{term.function}({'distinct ' if term.distinct else ''}{self.term(term.argument)})"
            case Part():
                return f"{self.term(term.term)}[{term.place}{':' if term.open and term.place == term.count else ''}]"

    def _arithmetic(self, term: Arithmetic) -> str:
        binds = _BINDS[term.operator]
        left, right = self.term(term.left), self.term(term.right)
        if isinstance(term.left, Arithmetic) and _BINDS[term.left.operator] < binds:
            left = f"({left})"
        if isinstance(term.right, Arithmetic) and _BINDS[term.right.operator] <= binds:
            right = f"({right})"
        return f"{left} {term.operator} {right}"

    def value(self, value: Value) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case Decimal():
                return format(value, "f")
            case float():
                return self._double(value)
            case str():
                return value if _SYMBOL.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)
            case Iri():
                return self._iri(value.value) if value.value else '_""'  # `<>` means `!=` before a comma
            case Literal():
                tag = f"@{value.language}" if value.language else f"^^{self._iri(value.datatype)}"
                return _quoted(value.lexical) + tag
            case Structure():
                return self._applied(value.name, map(self.value, value.arguments), force=True)
            case tuple():
                return f"[{', '.join(map(self.value, value))}]"

    # -- names ------------------------------------------------------------------------------------------------------

    def _applied(self, name: str, arguments: Iterable[str], *, force: bool = False) -> str:
        name = name.written if isinstance(name, SizedName) else name
        inside = ", ".join(arguments)
        if not inside and not force and _SYMBOL.fullmatch(name) and name.lower() not in _WORDS:
            return name
        return f"{self._name(name)}({inside})"

    def predicate(self, name: str) -> str:
        """Return the name of a predicate as written in a rule."""
        if isinstance(name, SizedName):
            return f"{self._name(name.written)}/{name.rpartition('/')[2]}"
        return name if name == EQUALITY else self._name(name)

    def _name(self, name: str) -> str:
        is_name = _NAME.fullmatch(name) and not name[0].isdigit()  # `²` is a letter to a regular expression
        if is_name and name.lower() not in ("not", "naf", "aggregate", "distinct"):
            return name
        return self._iri(name)

    def _double(self, value: float) -> str:
        if math.isfinite(value):
            text = repr(value)
            return text if "e" in text else f"{text}e0"
        word = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return f'"{word}"^^{self._iri(XSD + "double")}'

    def _iri(self, iri: str) -> str:
        for prefix, namespace in reversed(self._prefixes.items()):
            if namespace and iri.startswith(namespace) and _LOCAL.fullmatch(iri[len(namespace) :]):
                return f"{prefix}:{iri[len(namespace) :]}"
        return _bracketed(iri)


def _bracketed(iri: str) -> str:
    def escaped(character: str) -> str:
        return f"\\u{ord(character):04X}"

    text = _NOT_IN_IRI.sub(lambda match: escaped(match.group()), iri)
    return "<" + _COMPARATOR.sub(lambda match: match[1] + escaped(match[2]), text) + ">"


def _quoted(text: str) -> str:
    def escaped(character: str) -> str:
        if character in _ESCAPES:
            return _ESCAPES[character]
        is_plain = character.isprintable() or character == " "
        if is_plain and not 0xD800 <= ord(character) <= 0xDFFF:
            return character
        return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"

    return '"' + "".join(map(escaped, text)) + '"'


def _variable(name: str) -> str:
    is_bare = (name[0].isupper() and _NAME.fullmatch(name)) or name.startswith("_")
    return name if is_bare and name.lower() not in _WORDS else f"?{name}"
