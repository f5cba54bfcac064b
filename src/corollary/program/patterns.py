"""Function terms and lists: which terms are patterns, the parts of constants, and the conditions for two patterns to match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program.arithmetic import EvaluationError
from corollary.program.atoms import Comparison, all_terms_of
from corollary.program.builtins import find_builtin
from corollary.program.rules import Rule
from corollary.program.terms import Constant, FunctionTerm, ListTerm, Part, Term, Variable, Wildcard, subterms
from corollary.program.values import Structure, Value

# -- forms -------------------------------------------------------------------------------------------------------------

# Forms of terms: the name of a function with its arity; one form stands for all lists.

Form: TypeAlias = tuple[str | None, int]
LIST: Form = (None, 0)
_PLAIN = {int, float, bool, str}


def pattern_of(form: Form, variables: tuple[Term, ...]) -> Term:
    """Return the term of a form with these parts; a list is its first item and the rest."""
    name, _ = form
    return ListTerm(variables[:1], variables[1]) if name is None else FunctionTerm(name, variables)


def places_of(form: Form) -> int:
    """Return how many parts `pattern_of` takes."""
    name, count = form
    return 2 if name is None else count


def forms_of_value(value: Any) -> Iterator[Form]:
    """Yield the forms of a Python value and of all terms inside it."""
    if isinstance(value, Structure):
        yield value.name, len(value.arguments)
        for part in value.arguments:
            yield from forms_of_value(part)
    elif isinstance(value, (tuple, list)):
        yield LIST
        for part in value:
            yield from forms_of_value(part)


def forms_of_rows(rows: Sequence[Any]) -> set[Form]:
    """Return the forms of terms in Python values or in rows of them."""
    columns = zip(*rows, strict=False) if all(isinstance(row, (tuple, list)) for row in rows) else [rows]
    terms = [column for column in columns if not _PLAIN.issuperset(map(type, column))]
    return {form for column in terms for value in column for form in forms_of_value(value)}


def forms_of_rules(rules: Iterable[Rule]) -> set[Form]:
    """Return the forms of terms that rules make, as far as their text tells: a host function may return lists."""
    terms = [term for rule in rules for term in (*rule.head.arguments, *_terms(rule))]
    return {form for term in terms for part in subterms(term) for form in _forms_of_term(part)}


def _terms(rule: Rule) -> Iterator[Term]:
    return (term for element in rule.body for term in all_terms_of(element))


def _forms_of_term(term: Term) -> Iterator[Form]:
    match term:
        case ListTerm():
            yield LIST
        case Constant():
            yield from forms_of_value(term.value)
        case FunctionTerm():
            function = find_builtin(term.name)
            if function is None:
                yield term.name, len(term.arguments)
            elif function.result in ("list", "any"):
                yield LIST


# -- patterns ----------------------------------------------------------------------------------------------------------

MOST_SYMBOLS = 5_000
"""A term with more constants and functions has most likely grown in a rule that never ends."""
MOST_CHARACTERS = 50_000_000
MOST_DIGITS = 100_000
"""The greatest length of texts and numbers that rules compute: longer ones could exhaust time and memory."""
_MOST_BITS = int(MOST_DIGITS * 3.3219280948873626)


def is_pattern(term: Term) -> bool:
    """Return whether the term is a function term or a list, which is built from parts and taken apart into them."""
    return isinstance(term, ListTerm) or (isinstance(term, FunctionTerm) and find_builtin(term.name) is None)


def is_ground(term: Term) -> bool:
    return not any(isinstance(part, (Variable, Wildcard)) for part in subterms(term))


def children(term: Term) -> tuple[Term, ...]:
    """Return the parts of a pattern, the rest of a list last."""
    if isinstance(term, FunctionTerm):
        return term.arguments
    assert isinstance(term, ListTerm)
    return term.items if term.tail is None else (*term.items, term.tail)


def with_children(term: Term, by: Callable[[Term], Term]) -> Term:
    """Return the pattern with its parts replaced."""
    if isinstance(term, FunctionTerm):
        return replace(term, arguments=tuple(map(by, term.arguments)))
    assert isinstance(term, ListTerm)
    return replace(term, items=tuple(map(by, term.items)), tail=None if term.tail is None else by(term.tail))


def parts(pattern: Term, of: Term) -> Iterator[tuple[Term, Part]]:
    """Yield each child of a pattern with the term for that part of a constant."""
    name = pattern.name if isinstance(pattern, FunctionTerm) else None
    is_open = isinstance(pattern, ListTerm) and pattern.tail is not None
    below = children(pattern)
    for place, child in enumerate(below):
        yield child, Part(of, name, len(below) - is_open, place, is_open, pattern.span)


def has_unknown_parts(term: Term) -> bool:
    """Return whether `_` occurs inside a function term or a list."""
    return is_pattern(term) and any(isinstance(part, Wildcard) for part in subterms(term))


def without_unknown_parts(comparison: Comparison) -> Comparison:
    """Return `X = f(_)` with the corresponding part of X in place of `_`; it has no value if X has another form."""
    for pattern, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if has_unknown_parts(pattern):
            return replace(comparison, left=other, right=_with_parts(pattern, other))
    return comparison


def _with_parts(term: Term, of: Term) -> Term:
    if isinstance(term, Wildcard):
        return of
    if not has_unknown_parts(term):
        return term
    places = iter([part for _, part in parts(term, of)])
    return with_children(term, lambda child: _with_parts(child, next(places)))


def pattern_variables(term: Term) -> Iterator[Variable]:
    """Yield the variables that get a value when a constant is matched with this term."""
    if isinstance(term, Variable):
        yield term
    elif is_pattern(term):
        for child in children(term):
            yield from pattern_variables(child)


def computed_parts(term: Term) -> Iterator[Term]:
    """Yield the outermost parts of a term that must be computed before it can be matched."""
    if is_pattern(term):
        for child in children(term):
            yield from computed_parts(child)
    elif not isinstance(term, (Variable, Wildcard)) and not is_ground(term):
        yield term


def with_computed(term: Term, by: Callable[[Term], Term]) -> Term:
    """Return the term with each computed part replaced."""
    if is_pattern(term):
        return with_children(term, lambda child: with_computed(child, by))
    return term if isinstance(term, (Variable, Wildcard, Constant)) else by(term)


def pairs(left: Term, right: Term) -> list[tuple[Term, Term]] | None:
    """Return the pairs of terms that must be identical for two terms to be, down to pairs with a non-pattern side; None
    if they never are."""
    if not (is_pattern(left) and is_pattern(right)):
        return [(left, right)]
    below = terms_below(left, right)
    found: list[tuple[Term, Term]] = []
    for one, other in below or ():
        inner = pairs(one, other)
        if inner is None:
            return None
        found += inner
    return found if below is not None else None


def terms_below(left: Term, right: Term) -> list[tuple[Term, Term]] | None:
    """Return the pairs of corresponding parts of two patterns; None if they have different forms."""
    if isinstance(left, FunctionTerm) and isinstance(right, FunctionTerm):
        same = (left.name, len(left.arguments)) == (right.name, len(right.arguments))
        return list(zip(left.arguments, right.arguments, strict=True)) if same else None
    if not (isinstance(left, ListTerm) and isinstance(right, ListTerm)):
        return None
    common = min(len(left.items), len(right.items))
    found = list(zip(left.items, right.items, strict=False))
    if len(left.items) == common and left.tail is not None:
        return [*found, (left.tail, _rest(right, common))]
    if len(right.items) == common and right.tail is not None:
        return [*found, (_rest(left, common), right.tail)]
    return found if len(left.items) == len(right.items) and left.tail is right.tail is None else None


def _rest(term: ListTerm, start: int) -> Term:
    rest = term.items[start:]
    return term.tail if not rest and term.tail is not None else ListTerm(rest, term.tail, term.span)


# -- values ------------------------------------------------------------------------------------------------------------


def part_of(value: Value, part: Part) -> Value:
    """Return a part of a value. Raise `EvaluationError` if the value has another form."""
    if part.functor is not None:
        if isinstance(value, Structure) and value.name == part.functor and len(value.arguments) == part.count:
            return value.arguments[part.place]
    elif isinstance(value, tuple) and (len(value) >= part.count if part.open else len(value) == part.count):
        return value[part.place] if part.place < part.count else value[part.count :]
    raise EvaluationError("the value has another form")


def joined(items: tuple[Value, ...], rest: Value) -> Value:
    """Return a list of items followed by those of another list."""
    if not isinstance(rest, tuple):
        raise EvaluationError("the tail of a list must be a list")
    return items + rest


def check_size(value: Value, deepest: int) -> None:
    """Raise if a term made by a rule is larger than allowed; most likely it would grow for ever."""
    depth, symbols, level = 0, 0, [value]
    while level:
        depth += 1
        symbols += len(level)
        if symbols > MOST_SYMBOLS:
            raise _too_large(f"a rule makes a term of more than {MOST_SYMBOLS:,} symbols")
        terms = [one for one in level if isinstance(one, (Structure, tuple))]
        if terms and depth > deepest:
            raise _too_large(f"a rule makes a term that is nested more than {deepest:,} levels deep")
        level = [part for one in terms for part in (one.arguments if isinstance(one, Structure) else one)]


def _too_large(message: str) -> ProgramError:
    hint = "if the terms are meant to grow, limit them in the rule, or allow more with limits.depth"
    return ProgramError([Diagnostic(catalogue.TERM_TOO_LARGE, message, None, hint)])


def check_length(value: Value) -> None:
    """Raise if a number or a text made by a rule is longer than allowed; most likely it would grow for ever."""
    if type(value) is int and value.bit_length() > _MOST_BITS:
        raise _too_long(f"a number of more than {MOST_DIGITS:,} digits")
    if type(value) is str:
        check_characters(len(value))


def check_characters(count: int) -> None:
    """Raise if a text of this length, made by a rule, is longer than allowed."""
    if count > MOST_CHARACTERS:
        raise _too_long(f"a text of more than {MOST_CHARACTERS:,} characters")


def _too_long(made: str) -> ProgramError:
    hint = "if the values are meant to grow, limit them in the rule"
    return ProgramError([Diagnostic(catalogue.TERM_TOO_LARGE, f"a rule makes {made}", None, hint)])
