"""From the syntax tree to its meaning: the nodes of a clause become statements of the program.

One production of the grammar serves heads, bodies and arguments; here each place checks what it accepts, in the user's
words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from corollary.diagnostics import Diagnostic, Span, catalogue, did_you_mean
from corollary.language.literals import LiteralError, typed_value
from corollary.language.syntax import Node
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
    EvaluationError,
    FactBlock,
    FunctionTerm,
    Iri,
    ListTerm,
    Minus,
    Negation,
    Query,
    Statement,
    Structure,
    Term,
    Value,
    Variable,
    Wildcard,
    calculate,
    find_aggregate,
    find_builtin,
    negate,
    subterms,
)
from corollary.program.arithmetic import ARITHMETIC_OPERATORS, COMPARISON_OPERATORS, is_number
from corollary.program.builtins import Builtin, find_condition
from corollary.program.builtins.declaration import HAS_VALUE, shortened
from corollary.program.datatypes import DATATYPES, RIF, checked_iri
from corollary.program.values import RDF, XSD

# -- typed terms -------------------------------------------------------------------------------------------------------

# IRIS's typed terms, such as `_date(2026, 1, 1)`, `_string("a")` or `_iri("http://…")`, as constants.


def typed_term(name: str, arguments: Sequence[Value]) -> Value:
    """Return the constant of `name(arguments)`; raise `LiteralError` with a text for people if it is invalid."""
    word = name.removeprefix("_").lower()
    if word == "iri":
        return checked_iri(_text(name, arguments))
    if word == "plainliteral" and len(arguments) == 2:
        return _plain_literal(name, *arguments)
    if word in _LEXICAL and (word not in _COMPOSED or (len(arguments) == 1 and isinstance(arguments[0], str))):
        return typed_value(_text(name, arguments), _LEXICAL[word])
    if word not in _COMPOSED:
        hint = did_you_mean(name, [f"_{known}" for known in [*_LEXICAL, *_COMPOSED, "iri"]])
        raise LiteralError(f"there is no typed term '{name}'" + (f"; {hint}" if hint else ""))
    datatype, counts, compose = _COMPOSED[word]
    if len(arguments) not in counts:
        raise LiteralError(f"'{name}' takes {' or '.join(map(str, counts))} arguments, not {len(arguments)}")
    numbers = [_number(name, argument) for argument in arguments]
    return typed_value(compose(*numbers), XSD + datatype)


def _text(name: str, arguments: Sequence[Value]) -> str:
    if len(arguments) != 1:
        raise LiteralError(f"'{name}' takes one argument, not {len(arguments)}")
    value = arguments[0]
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain_literal(name: str, text: Value, language: Value) -> Value:
    if not isinstance(text, str) or not isinstance(language, str):
        raise LiteralError(f"'{name}' takes two strings")
    return typed_value(f"{text}@{language}", RDF + "PlainLiteral")


def _number(name: str, value: Value) -> int | Decimal:
    if type(value) not in (int, Decimal):
        raise LiteralError(f"'{name}' takes numbers")
    return value  # type: ignore[return-value]


def _seconds(second: int | Decimal, millisecond: int | Decimal = 0) -> str:
    if second < 0 or not 0 <= millisecond < 1000:
        raise LiteralError("seconds are not negative, and milliseconds are from 0 to 999")
    total = Decimal(second) + Decimal(millisecond) / 1000
    whole, _, fraction = format(total, "f").partition(".")
    return f"{int(whole):02}" + (f".{fraction.rstrip('0')}" if fraction.strip("0") else "")


def _zone(*offset: int | Decimal) -> str:
    if not offset:
        return ""
    if any(part != int(part) for part in offset):
        raise LiteralError("the hours and the minutes of a time zone are integers")
    hours, minutes = int(offset[0]), int(offset[1])
    if hours and minutes and (hours < 0) is not (minutes < 0):
        raise LiteralError("the hours and the minutes of a time zone have one sign")
    return f"{'-' if hours < 0 or minutes < 0 else '+'}{abs(hours):02}:{abs(minutes):02}"


def _date(year: int, month: int, day: int, *zone: int) -> str:
    return f"{_year(year)}-{month:02}-{day:02}{_zone(*zone)}"


def _year(year: int) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04}"


def _time(hour: int, minute: int, second: int | Decimal, *rest: int) -> str:
    # Arguments after the seconds: milliseconds, a zone of hours and minutes, or both.
    millisecond, zone = (rest[0], rest[1:]) if len(rest) in (1, 3) else (0, rest)
    return f"{hour:02}:{minute:02}:{_seconds(second, millisecond)}{_zone(*zone)}"


def _datetime(year: int, month: int, day: int, *time: int) -> str:
    return f"{_date(year, month, day)}T{_time(*time)}"


def _duration(*parts: int | Decimal) -> str:
    years, months, days, hours, minutes, seconds, *rest = parts
    return f"P{years}Y{months}M{days}DT{hours}H{minutes}M{_seconds(seconds, *rest)}S"


def _day_time_duration(*parts: int | Decimal) -> str:
    days, hours, minutes, seconds, *rest = parts
    return f"P{days}DT{hours}H{minutes}M{_seconds(seconds, *rest)}S"


# Terms whose one argument is the lexical form: one for each datatype.
_LEXICAL = {datatype.rpartition("#")[2].lower(): datatype for datatype in (*DATATYPES, RIF + "local")}
# Terms composed of numbers: datatype, allowed numbers of arguments, lexical form.
_COMPOSED: dict[str, tuple[str, tuple[int, ...], Callable[..., str]]] = {
    "date": ("date", (3, 5), _date),
    "time": ("time", (3, 4, 5, 6), _time),
    "datetime": ("dateTime", (6, 7, 8, 9), _datetime),
    "duration": ("duration", (6, 7), _duration),
    "daytimeduration": ("dayTimeDuration", (4, 5), _day_time_duration),
    "yearmonthduration": ("yearMonthDuration", (2,), lambda years, months: f"P{years}Y{months}M"),
    "gyear": ("gYear", (1,), _year),
    "gyearmonth": ("gYearMonth", (2,), lambda year, month: f"{_year(year)}-{month:02}"),
    "gmonth": ("gMonth", (1,), lambda month: f"--{month:02}"),
    "gmonthday": ("gMonthDay", (2,), lambda month, day: f"--{month:02}-{day:02}"),
    "gday": ("gDay", (1,), lambda day: f"---{day:02}"),
}


# -- build -------------------------------------------------------------------------------------------------------------

FORMS = {
    "comp": "COMP(X, >=, 3)",
    "bind": "BIND(X + 1 AS Y)",
    "aggregate": "AGGREGATE(p(X, Y)) ON X WITH COUNT(Y) AS N",
}


class Mistake(Exception):
    """Raised for a clause that follows the grammar but makes no sense; carries the diagnostic."""

    def __init__(self, kind: catalogue.DiagnosticKind, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(kind, message, span, hint)


def build_clause(node: Node) -> list[Statement]:
    """Return the statements of a fact, rule or query node; several heads without a body are several facts."""
    if node.kind == "query":
        return [Query(tuple(body_element(item) for item in node.children), node.span)]
    name = str(node.token.value) if node.kind.startswith("named") else None
    heads = tuple(_head(item) for item in node.children[0].children)
    body = tuple(body_element(item) for item in node.children[1].children) if len(node.children) > 1 else ()
    if not body and all(_is_ground(head) for head in heads):
        return [_fact(head, node.span) for head in heads]
    return [Clause(heads, body, name, node.span)]


def _fact(head: Atom, span: Span) -> FactBlock:
    return FactBlock(head.predicate, head.arity, [tuple(ground_value(term) for term in head.arguments)], span)


def _is_ground(atom: Atom) -> bool:
    return not any(
        isinstance(part, (Variable, Wildcard, AggregateTerm)) for term in atom.arguments for part in subterms(term)
    )


# -- heads and bodies ----------------------------------------------------------------------------------------------


def _head(node: Node) -> Atom:
    if node.kind == "negated":
        hint = "negation belongs in the body, after ':-'"
        raise Mistake(catalogue.BAD_HEAD, "a head cannot be negated", node.span, hint)
    if node.kind == "comparison" and node.token.value == "=":
        return Atom(EQUALITY, _terms(node.children), node.span)
    if node.kind in ("comparison", "operation", "operator_call", "aggregation", "alias", "operator", "distinct"):
        what = "a comparison" if node.kind == "comparison" else "this"
        raise Mistake(catalogue.BAD_HEAD, f"{what} cannot stand in a head", node.span, "a head is an atom: p(X, Y)")
    if node.kind == "call" and not _is_typed_term(node):
        _refuse_form(node)
        arguments, location = _arguments(node)
        return Atom(str(node.token.value), tuple(_head_argument(item) for item in arguments), node.span, location)
    return _atom(node)


def _head_argument(node: Node) -> Term:
    if node.kind == "call" and (function := find_aggregate(str(node.token.value))):
        argument, distinct = _aggregated(node)
        return AggregateTerm(function, argument, distinct, node.span)
    return term(node)


def _aggregated(node: Node) -> tuple[Term, bool]:
    """Return the term of an aggregate call, and whether it ranges over distinct values only."""
    if len(node.children) != 1:
        message = f"'{node.token.value}' takes one argument, not {len(node.children)}"
        hint = f"for example {node.token.value}(X) or {node.token.value}(distinct X)"
        raise Mistake(catalogue.MISPLACED_AGGREGATE, message, node.span, hint)
    inner = node.children[0]
    return (term(inner.children[0]), True) if inner.kind == "distinct" else (term(inner), False)


def body_element(node: Node) -> BodyElement:
    match node.kind:
        case "negated":
            return _negation(node)
        case "comparison":
            left, right = (term(child) for child in node.children)
            return Comparison(str(node.token.value), left, right, node.span)
        case "operation":
            operation, result = node.children
            return _with_result(term(operation), term(result), node.span)
        case "operator_call":
            raise _wrong_operator(node)
        case "aggregation":
            return _aggregation(node)
        case "call":
            return _call_in_body(node)
        case "name" | "variable" if (
            found := find_condition(node.span.text)
        ) is not None and not found.parameters.types:
            return _condition(node, found)  # TRUE and FALSE
        case _:
            return _atom(node)


def _negation(node: Node) -> Negation:
    inner = body_element(node.children[0])
    if not isinstance(inner, (Atom, Comparison)):
        what = {Assignment: "BIND", Aggregation: "AGGREGATE"}.get(type(inner), "a negation")
        hint = "only atoms and comparisons can be negated"
        raise Mistake(catalogue.BAD_FORM, f"{what} cannot be negated", node.span, hint)
    return Negation(inner, node.span)


def _call_in_body(node: Node) -> BodyElement:
    word, kinds = str(node.token.value).lower(), [child.kind for child in node.children]
    if word == "comp" and len(kinds) == 3 and kinds[1] == "operator":
        left, right = term(node.children[0]), term(node.children[2])
        return Comparison(str(node.children[1].token.value), left, right, node.span)
    if word == "bind" and kinds == ["alias"]:
        expression, variable = node.children[0].children
        return Assignment(term(expression), _variable(variable), node.span)
    if (function := find_condition(str(node.token.value))) is not None:
        return _condition(node, function)
    _refuse_form(node)
    return _atom(node)


def _refuse_form(node: Node) -> None:
    """Raise if COMP, BIND or AGGREGATE, otherwise plain names, contains what only the special form can."""
    word, kinds = str(node.token.value).lower(), {child.kind for child in node.children}
    special = {"comp": {"operator"}, "bind": {"alias"}, "aggregate": {"call", "negated", "comparison"}}
    is_plain = node.token.span.text.lower() == word  # not `<aggregate>`, nor a prefixed name for it
    if kinds & special.get(word, set()) and is_plain:
        message = f"this {word.upper()} is not written as it should be"
        raise Mistake(catalogue.BAD_FORM, message, node.span, f"write {FORMS[word]}")


def _aggregation(node: Node) -> Aggregation:
    call, groups, operation, result = node.children
    if str(call.token.value).lower() != "aggregate":
        message = f"'{call.token.value}' cannot have ON and WITH"
        raise Mistake(catalogue.BAD_FORM, message, node.span, f"write {FORMS['aggregate']}")
    function = find_aggregate(str(operation.token.value))
    if function is None:
        message = f"'{operation.token.value}' is not an aggregate"
        raise Mistake(catalogue.BAD_FORM, message, operation.token.span, "there are COUNT, SUM, MIN, MAX, AVG and MED")
    argument, distinct = _aggregated(operation)
    return Aggregation(
        tuple(body_element(item) for item in call.children),
        tuple(_variable(group) for group in groups.children) if groups else (),
        (AggregateOperation(function, argument, _variable(result), distinct),),
        node.span,
    )


def _is_typed_term(call: Node) -> bool:
    """Return whether a call is a typed term: `_date(2026, 1, 1)` is, `<_date>(X)` is not."""
    return call.token.span.text.startswith("_")


def _atom(node: Node) -> Atom:
    value, text = node.token.value, node.span.text
    if node.kind == "call" and not _is_typed_term(node):
        arguments, location = _arguments(node)
        return Atom(str(value), tuple(term(item) for item in arguments), node.span, location)
    if node.kind == "name" or (node.kind == "variable" and not text.startswith(("?", "_"))):
        return Atom(str(value), (), node.span)
    if node.kind == "constant" and isinstance(value, Iri):
        return Atom(value.value, (), node.span)
    shown = f"'{text if len(text) < 40 else text[:40] + '…'}'"
    hint = "atoms are written p(X, a), comparisons X < 5"
    if isinstance(value, bool):
        hint = f"write {text}() for a predicate of that name"
    elif node.kind == "arithmetic" and value == "%":
        hint = "'%' starts a comment only at the start of a line: write // here"
    raise Mistake(catalogue.NOT_AN_ATOM, f"{shown} is not an atom or a comparison", node.span, hint)


def _arguments(node: Node) -> tuple[list[Node], int | None]:
    """Return the arguments of an atom without their marks, and the position of the one marked as its location."""
    marked = [place for place, item in enumerate(node.children) if item.kind == "located"]
    if len(marked) > 1:
        message = "an atom has one location, and this is a second one"
        hint = "mark the one argument that says where facts are stored"
        raise Mistake(catalogue.SECOND_LOCATION, message, node.children[marked[1]].span, hint)
    arguments = [item.children[0] if item.kind == "located" else item for item in node.children]
    return arguments, marked[0] if marked else None


# -- terms ---------------------------------------------------------------------------------------------------------


def term(node: Node) -> Term:
    value = node.token.value
    match node.kind:
        case "variable":
            return _variable(node)
        case "wildcard":
            return Wildcard(node.span)
        case "constant" | "name":
            return Constant(value, node.span)
        case "arithmetic":
            left, right = (term(child) for child in node.children)
            return Arithmetic(str(value), left, right, node.span)
        case "minus":
            return _minus(node)
        case "call":
            return _call_in_term(node)
        case "operator_call":
            raise _wrong_operator(node)
        case "list":
            return ListTerm(_terms(node.children), None, node.span)
        case "list_with_tail":
            return ListTerm(_terms(node.children[:-1]), term(node.children[-1]), node.span)
        case "located":
            message = "only an argument of an atom can be marked as a location"
            raise Mistake(catalogue.MISPLACED_LOCATION, message, node.span, "for example link(@X, Y)")
        case _:
            what = {
                "comparison": "a comparison",
                "operation": "a built-in with its result",
                "negated": "a negation",
                "operator": "an operator",
            }
            message = f"{what.get(node.kind, 'this')} cannot stand here: a term is needed"
            raise Mistake(catalogue.NOT_AN_ATOM, message, node.span)


def _terms(nodes: Sequence[Node]) -> tuple[Term, ...]:
    return tuple(term(node) for node in nodes)


def _variable(node: Node) -> Variable:
    return Variable(str(node.token.value), node.span)


def _minus(node: Node) -> Term:
    operand = term(node.children[0])
    if isinstance(operand, Constant) and is_number(operand.value):
        return Constant(negate(operand.value), node.span)  # -5 is a number, not an operation
    return Minus(operand, node.span)


def _call_in_term(node: Node) -> Term:
    name = str(node.token.value)
    if find_aggregate(name) and len(node.children) == 1:
        hint = "an aggregate stands in a head, p(X, count(Y)) :- …, or in AGGREGATE(…) ON … WITH …"
        raise Mistake(catalogue.MISPLACED_AGGREGATE, f"the aggregate '{name}' cannot stand here", node.span, hint)
    arguments = _terms(node.children)
    if _is_typed_term(node):
        return Constant(_typed_term(name, arguments, node.span), node.span)
    function = find_builtin(name)
    if function is None:
        return FunctionTerm(name, arguments, node.span)
    if not function.parameters.take(len(arguments)):
        raise _wrong_count(node, function, len(arguments))
    return _application(function, arguments, node.span)


def _wrong_count(node: Node, function: Builtin, count: int) -> Mistake:
    message = f"'{shortened(str(node.token.value))}' takes {function.parameters.counts}, not {count}"
    return Mistake(catalogue.UNKNOWN_FUNCTION, message, node.span)


def _application(function: Builtin, arguments: tuple[Term, ...], span: Span) -> Term:
    if function.operator in ARITHMETIC_OPERATORS:
        return Arithmetic(function.operator, arguments[0], arguments[1], span)
    return FunctionTerm(function.name, arguments, span)


def _condition(node: Node, function: Builtin) -> Comparison:
    """Return a built-in as a literal of a body: it is true of its arguments, or its last argument is its value."""
    arguments = _terms(node.children)
    if function.result == "boolean" and function.parameters.take(len(arguments)):
        if function.operator in COMPARISON_OPERATORS:
            return Comparison(function.operator, arguments[0], arguments[1], node.span)
        return Comparison("=", _application(function, arguments, node.span), Constant(True, node.span), node.span)
    if not arguments or not function.parameters.take(len(arguments) - 1):
        more = "" if function.result == "boolean" else " and its result"
        message = f"'{shortened(str(node.token.value))}' takes {function.parameters.counts}{more}, not {len(arguments)}"
        raise Mistake(catalogue.UNKNOWN_FUNCTION, message, node.span)
    return _with_result(_application(function, arguments[:-1], node.span), arguments[-1], node.span)


def _with_result(expression: Term, result: Term, span: Span) -> Comparison:
    """Return `ADD(X, Y, Z)` as an equality of the expression and the result; with `_`, the expression only needs a value."""
    if isinstance(result, Wildcard):
        return Comparison("=", FunctionTerm(HAS_VALUE, (expression,), span), Constant(True, span), span)
    return Comparison("=", expression, result, span)


def _wrong_operator(node: Node) -> Mistake:
    operator, count = node.token.span.text, len(node.children)
    takes = "2 arguments" if node.token.type == "COMPARE" else "2 arguments, or 2 and its result"
    hint = (
        f"write {operator}(X, Y)"
        if node.token.type == "COMPARE"
        else f"write {operator}(X, Y, Z) for X {operator} Y = Z"
    )
    return Mistake(catalogue.UNKNOWN_FUNCTION, f"'{operator}' takes {takes}, not {count}", node.span, hint)


def _typed_term(name: str, arguments: tuple[Term, ...], span: Span) -> Value:
    if not all(isinstance(argument, Constant) for argument in arguments):
        raise Mistake(catalogue.BAD_LITERAL, f"the arguments of '{name}' must be constants", span)
    try:
        return typed_term(name, [argument.value for argument in arguments if isinstance(argument, Constant)])
    except LiteralError as error:
        raise Mistake(catalogue.BAD_LITERAL, str(error), span) from None


def ground_value(ground: Term) -> Value:
    """Return the value of a term without variables, after evaluating its arithmetic."""
    span = ground.span
    try:
        match ground:
            case Constant():
                return ground.value
            case Arithmetic():
                return calculate(ground.operator, ground_value(ground.left), ground_value(ground.right))
            case Minus():
                return negate(ground_value(ground.operand))
            case FunctionTerm():
                arguments = tuple(ground_value(argument) for argument in ground.arguments)
                function = find_builtin(ground.name)
                return function.apply(*arguments) if function else Structure(ground.name, arguments)
            case ListTerm():
                return _ground_list(ground)
            case _:
                raise AssertionError(f"{ground} is not ground")
    except EvaluationError as error:
        assert span is not None
        raise Mistake(catalogue.FAILING_ARITHMETIC, f"this has no value: {error}", span) from None


def _ground_list(ground: ListTerm) -> Value:
    items = tuple(ground_value(item) for item in ground.items)
    if ground.tail is None:
        return items
    tail = ground_value(ground.tail)
    if not isinstance(tail, tuple):
        raise EvaluationError("the tail of a list must be a list")
    return items + tail
