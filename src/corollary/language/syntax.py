"""The syntax tree of one clause, before its meaning is determined.

The LALR parser of lark runs over the tokens of one clause and builds `Node`s bottom-up, so that depth needs no
recursion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from lark import Lark, Transformer, UnexpectedToken
from lark import Token as LarkToken
from lark.lexer import Lexer as LarkLexer

from corollary.diagnostics import Diagnostic, Span, catalogue
from corollary.language.lexer import Token


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of a clause: `kind` names its production, `token` its characteristic word."""

    kind: str
    span: Span
    token: Token
    children: Sequence[Node] = ()


class SyntaxMistake(Exception):
    """Raised for a clause that does not follow the grammar."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def parse_clause(tokens: list[Token]) -> Node:
    """Return the tree of one clause; raise `SyntaxMistake` if it does not follow the grammar."""
    parser = _parser().parse_interactive()
    try:
        for token in tokens:
            parser.feed_token(token)  # type: ignore[arg-type]  # lark asks a token for its type only
        tree: Node = parser.feed_token(_END_OF_TOKENS)
        return tree
    except UnexpectedToken as error:
        expected: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
        raise SyntaxMistake(_explain(error, expected, tokens)) from None


class _NoLexer(LarkLexer):
    """A replacement for lark's own lexer: tokens are passed to the parser directly."""

    def __init__(self, _: object) -> None:
        pass

    def lex(self, *_: object) -> Iterator[LarkToken]:
        return iter(())


_END_OF_TOKENS = LarkToken("$END", "")


@cache
def _parser() -> Lark:
    grammar = files("corollary.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer=_NoLexer, transformer=_Trees())


def _span(first: Node | Token, last: Node | Token) -> Span:
    return first.span.to(last.span)


class _Trees(Transformer[Any, Any]):
    """The actions of the parser for each production, children first."""

    def clause(self, parts: list[Any]) -> Node:
        name, clause, end = parts
        first = name or (clause.span and clause)
        children = clause.children
        token = name or clause.token
        return Node("named_" + clause.kind if name else clause.kind, _span(first, end), token, children)

    def no_name(self, _: list[Any]) -> None:
        return None

    def rule_name(self, parts: list[Token]) -> Token:
        return parts[0]

    def fact(self, parts: list[Any]) -> Node:
        return self._clause("fact", parts[0], [])

    def rule(self, parts: list[Any]) -> Node:
        return self._clause("rule", parts[0], parts[2])

    def _clause(self, kind: str, head: list[Node], body: list[Node]) -> Node:
        last = (body or head)[-1]
        children = [Node("head", _span(head[0], head[-1]), head[0].token, head)]
        if body:
            children.append(Node("body", _span(body[0], body[-1]), body[0].token, body))
        return Node(kind, _span(head[0], last), head[0].token, children)

    def query(self, parts: list[Any]) -> Node:
        return Node("query", _span(parts[0], parts[-1]), parts[0], parts[1])

    def directive(self, parts: list[Any]) -> Node:
        return Node("directive", _span(parts[0], parts[-1]), parts[0], parts[1] if len(parts) == 3 else ())

    def prefix(self, parts: list[Token]) -> Node:
        children = [Node("token", part.span, part) for part in parts[1:3]]
        return Node("prefix", _span(parts[0], parts[-1]), parts[0], children)

    def first_item(self, parts: list[Any]) -> list[Any]:
        return [parts[0]]

    def next_item(self, parts: list[Any]) -> list[Any]:
        items: list[Any] = parts[0]
        items.append(parts[2])
        return items

    def negated(self, parts: list[Any]) -> Node:
        return Node("negated", _span(parts[0], parts[1]), parts[0], [parts[1]])

    def operator(self, parts: list[Token]) -> Node:
        return self._leaf("operator", parts)

    def operator_call(self, parts: list[Any]) -> Node:
        """Return an operator written before its arguments: `<(X, Y)` is `X < Y`, and `+(X, Y, Z)` says that Z is the sum."""
        operator, _, items, closing = parts
        span = _span(operator, closing)
        kind = "comparison" if operator.type == "COMPARE" else "arithmetic"
        if len(items) == 2:
            return Node(kind, span, operator, items)
        if len(items) == 3 and kind == "arithmetic":
            operation = Node(kind, span, operator, items[:2])
            return Node("operation", span, operator, [operation, items[2]])
        return Node("operator_call", span, operator, items)

    def minus_call(self, parts: list[Any]) -> Node:
        operator, opening, items, _, last, closing = parts
        return self.operator_call([operator, opening, [*items, last], closing])

    def distinct(self, parts: list[Any]) -> Node:
        return Node("distinct", _span(parts[0], parts[1]), parts[0], [parts[1]])

    def located(self, parts: list[Any]) -> Node:
        return Node("located", _span(parts[0], parts[1]), parts[0], [parts[1]])

    def alias(self, parts: list[Any]) -> Node:
        return Node("alias", _span(parts[0], parts[2]), parts[1], [parts[0], self._leaf("variable", parts[2:])])

    def aggregation(self, parts: list[Any]) -> Node:
        body, groups, _, operation, _, result = parts
        return Node(
            "aggregation", _span(body, result), body.token, [body, groups, operation, self._leaf("variable", [result])]
        )

    def no_groups(self, _: list[Any]) -> None:
        return None

    def on(self, parts: list[Any]) -> Node:
        word, groups = parts
        children = [self._leaf("variable", [token]) for token in groups]
        return Node("groups", _span(word, groups[-1]), word, children)

    def comparison(self, parts: list[Any]) -> Node:
        return self._binary("comparison", parts)

    def arithmetic(self, parts: list[Any]) -> Node:
        return self._binary("arithmetic", parts)

    def minus(self, parts: list[Any]) -> Node:
        return Node("minus", _span(parts[0], parts[1]), parts[0], [parts[1]])

    def variable(self, parts: list[Token]) -> Node:
        return self._leaf("variable", parts)

    def wildcard(self, parts: list[Token]) -> Node:
        return self._leaf("wildcard", parts)

    def constant(self, parts: list[Token]) -> Node:
        return self._leaf("constant", parts)

    def name(self, parts: list[Token]) -> Node:
        return self._leaf("name", parts)

    def group(self, parts: list[Any]) -> Node:
        inner: Node = parts[1]
        return Node(inner.kind, _span(parts[0], parts[2]), inner.token, inner.children)

    def list_term(self, parts: list[Any]) -> Node:
        children: list[Node] = parts[1] if len(parts) > 2 else []
        kind = "list"
        if len(parts) == 5:
            kind, children = "list_with_tail", [*children, parts[3]]
        return Node(kind, _span(parts[0], parts[-1]), parts[0], children)

    def call(self, parts: list[Any]) -> Node:
        return Node("call", _span(parts[0], parts[-1]), parts[0], parts[2] if len(parts) == 4 else ())

    def _leaf(self, kind: str, parts: Sequence[Token]) -> Node:
        return Node(kind, parts[0].span, parts[0])

    def _binary(self, kind: str, parts: list[Any]) -> Node:
        return Node(kind, _span(parts[0], parts[2]), parts[1], [parts[0], parts[2]])


# -- explaining what does not fit ----------------------------------------------------------------------------------

_OPERAND_STARTS = {"VARIABLE", "WILDCARD", "CONSTANT", "NAME", "FUNCTOR", "LPAR", "LSQB"}
_NAMES = {
    "END": "a full stop",
    "COMMA": "','",
    "RPAR": "')'",
    "RSQB": "']'",
    "LPAR": "'('",
    "ARROW": "':-'",
    "COMPARE": "a comparison",
    "AS": "'AS'",
    "WITH": "'WITH'",
    "VARIABLE": "a variable",
    "FUNCTOR": "an aggregate",
    "CONSTANT": "an IRI",
}


def _explain(error: UnexpectedToken, expected: set[str], tokens: list[Token]) -> Diagnostic:
    token: Any = error.token
    if not isinstance(token, Token):  # lark's own end marker: the text ended inside the clause
        return _unfinished(tokens)
    if (dashes := _dashes(tokens, token)) is not None:
        return Diagnostic(catalogue.UNEXPECTED_TOKEN, "'--' does not start a comment", dashes, "write // here")
    previous = tokens[tokens.index(token) - 1] if token is not tokens[0] else None
    return Diagnostic(
        catalogue.UNEXPECTED_TOKEN,
        f"unexpected {_shown(token)}" + (f", expected {_expectation(expected)}" if expected else ""),
        token.span,
        _hint(token, previous, expected),
    )


def _dashes(tokens: list[Token], wrong: Token) -> Span | None:
    """Return where two minus signs are adjacent before a token that does not fit: most likely a comment was meant."""
    for first, second in pairwise(tokens):
        if second.span.start >= wrong.span.start:
            return None
        if first.type == second.type == "MINUS" and first.span.end == second.span.start:
            return first.span.to(second.span)
    return None


def _unfinished(tokens: list[Token]) -> Diagnostic:
    last = tokens[-1].span
    place = last.source.span(last.end, last.end + 1)
    return Diagnostic(
        catalogue.UNFINISHED_CLAUSE, "the text ends in the middle of a clause", place, "end the clause with a full stop"
    )


def _shown(token: Token) -> str:
    text = token.span.text
    return "end of the clause" if token.type == "END" else f"'{text if len(text) <= 30 else text[:30] + '…'}'"


def _expectation(expected: set[str]) -> str:
    if expected >= _OPERAND_STARTS:
        return "a term" if "NOT" not in expected else "an atom or a term"
    if expected & {"END", "RPAR", "RSQB"}:
        expected = expected - {"COMPARE", "AS", "WITH"}  # possible, but hardly ever what is missing
    names = [_NAMES[terminal] for terminal in _NAMES if terminal in expected] or ["something else"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _hint(token: Token, previous: Token | None, expected: set[str]) -> str | None:
    if previous is None:
        return None
    starts_line = previous.span.position.line < token.span.position.line
    if expected <= {"AS", "WITH", "COMMA"}:
        return "write AGGREGATE(p(X, Y)) ON X WITH COUNT(Y) AS N"
    if expected == {"VARIABLE"}:
        return "a variable starts with a capital letter or with '?'"
    if token.value == "is" and "COMPARE" in expected:
        return "write '=' or BIND(… AS X)"
    if token.type in _OPERAND_STARTS | {"NOT"} and "COMMA" in expected:
        if starts_line:
            return "is a full stop or a comma missing at the end of the line before?"
        return "is a comma missing before it?"
    if token.span.text == "%":
        return "'%' is a comment only at the start of a line: write // here"
    if token.type == "ARROW" and starts_line is False:
        return "a clause has one ':-'; is a full stop missing before this rule's head?"
    if token.type == "END" and previous.type in ("LPAR", "COMMA") and _is_digit_behind(token.span):
        return "a number starts with a digit: 0.5"
    if token.type == "END" and "RPAR" in expected:
        return "a closing ')' is missing"
    if token.type in ("RPAR", "END") and "RSQB" in expected:
        return "a closing ']' is missing"
    if token.type == "RPAR" and "RPAR" not in expected:
        return "this ')' closes nothing, or something is missing before it"
    return None


def _is_digit_behind(span: Span) -> bool:
    return span.source.text[span.end : span.end + 1].isdigit()
