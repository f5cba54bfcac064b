"""The directives `@prefix`, `@input`, `@output` and `@function`."""

from __future__ import annotations

from collections.abc import Iterable

from corollary.diagnostics import Diagnostic, Span, catalogue, did_you_mean
from corollary.language.build import Mistake, ground_value, term
from corollary.language.lexer import Token
from corollary.language.syntax import Node, SyntaxMistake
from corollary.program import (
    Constant,
    Directive,
    FunctionDeclaration,
    InputDeclaration,
    Iri,
    OutputDeclaration,
    PrefixDeclaration,
    Value,
    Variable,
    Wildcard,
    subterms,
)

_USAGE = {
    "prefix": "@prefix ex: <http://example.org/> .",
    "input": '@input edge("edges.csv") .',
    "output": "@output path .",
    "function": "@function score/2 .",
}


def build_directive(node: Node) -> list[Directive]:
    word = str(node.token.value)
    if word not in _USAGE:
        raise _unknown(node.token)
    if node.kind == "prefix":
        return [_prefix(node, word)]
    if not node.children:
        raise _malformed(node.span, word)
    if word == "input":
        return [_input(item, node) for item in node.children]
    if word == "output":
        return [_output(item, node) for item in node.children]
    if word == "function":
        return [_function(item, node) for item in node.children]
    raise _malformed(node.span, word)


def explain_directive(word: Token, diagnostic: Diagnostic) -> Exception:
    """Return the error for a directive that does not follow the grammar."""
    if word.value not in _USAGE:
        return _unknown(word)
    if diagnostic.kind is catalogue.UNFINISHED_CLAUSE:
        return SyntaxMistake(diagnostic)
    assert diagnostic.span is not None
    return _malformed(diagnostic.span, str(word.value))


def _unknown(word: Token) -> Mistake:
    known = [f"@{name}" for name in _USAGE]
    hint = did_you_mean(f"@{word.value}", known) or f"there are {', '.join(known)}"
    return Mistake(catalogue.UNKNOWN_DIRECTIVE, f"there is no directive '@{word.value}'", word.span, hint)


def _malformed(span: Span, word: str) -> Mistake:
    message = f"this @{word} is not written as it should be"
    return Mistake(catalogue.MALFORMED_DIRECTIVE, message, span, f"for example: {_USAGE[word]}")


def _prefix(node: Node, word: str) -> PrefixDeclaration:
    name, iri = (child.token.value for child in node.children)
    if word != "prefix" or not isinstance(iri, Iri):
        raise _malformed(node.span, word)
    return PrefixDeclaration(str(name), iri.value, node.span)


def _input(item: Node, node: Node) -> InputDeclaration:
    predicate, location, options = _source(item, node, "input")
    if location is None:
        raise _malformed(node.span, "input")
    return InputDeclaration(predicate, location, options, node.span)


def _output(item: Node, node: Node) -> OutputDeclaration:
    return OutputDeclaration(*_source(item, node, "output"), node.span)


def _source(item: Node, node: Node, word: str) -> tuple[str, str | None, tuple[tuple[str, Value], ...]]:
    """Return the parts of `predicate`, `predicate("file")` or `predicate("file", key = value, ...)`."""
    name = _predicate(item)
    if name is None:
        raise _malformed(node.span, word)
    arguments = list(item.children)
    location: str | None = None
    if arguments and arguments[0].kind != "comparison":
        location = _text(arguments.pop(0))
        if location is None:
            raise _malformed(node.span, word)
    return name, location, tuple(_options(arguments, node, word))


def _predicate(item: Node) -> str | None:
    value = item.token.value
    if item.kind in ("call", "name", "variable"):
        return str(value)
    return value.value if item.kind == "constant" and isinstance(value, Iri) else None


def _text(item: Node) -> str | None:
    value = item.token.value
    if item.kind in ("constant", "name") and isinstance(value, (str, Iri)):
        return str(value)
    return None


def _options(items: Iterable[Node], node: Node, word: str) -> Iterable[tuple[str, Value]]:
    for item in items:
        if item.kind != "comparison" or item.token.value != "=" or item.children[0].kind != "name":
            raise _malformed(node.span, word)
        value = term(item.children[1])
        if any(isinstance(part, (Variable, Wildcard)) for part in subterms(value)):
            raise _malformed(node.span, word)
        yield str(item.children[0].token.value), ground_value(value)


def _function(item: Node, node: Node) -> FunctionDeclaration:
    if item.kind == "call":
        return FunctionDeclaration(str(item.token.value), len(item.children), node.span)
    if item.kind == "arithmetic" and item.token.value == "/":
        name, arity = (term(child) for child in item.children)
        if isinstance(name, Constant) and isinstance(arity, Constant):
            text, count = name.value, arity.value
            if isinstance(text, str) and type(count) is int and count >= 0:
                return FunctionDeclaration(text, count, node.span)
    raise _malformed(node.span, "function")
