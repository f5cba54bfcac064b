"""Forms of terms: the name of a function with its number of arguments; one form stands for all lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from corollary.program.atoms import all_terms_of
from corollary.program.builtins import find_builtin
from corollary.program.rules import Rule
from corollary.program.terms import Constant, FunctionTerm, ListTerm, Term, subterms
from corollary.program.values import Structure

Form: TypeAlias = tuple[str | None, int]
LIST: Form = (None, 0)
_PLAIN = {int, float, bool, str}


def pattern_of(form: Form, variables: tuple[Term, ...]) -> Term:
    """The term of a form with these parts; a list is its first item and the rest."""
    name, _ = form
    return ListTerm(variables[:1], variables[1]) if name is None else FunctionTerm(name, variables)


def places_of(form: Form) -> int:
    """How many parts `pattern_of` takes."""
    name, count = form
    return 2 if name is None else count


def forms_of_value(value: Any) -> Iterator[Form]:
    """The forms of a value of a Python program and of all terms inside it."""
    if isinstance(value, Structure):
        yield value.name, len(value.arguments)
        for part in value.arguments:
            yield from forms_of_value(part)
    elif isinstance(value, (tuple, list)):
        yield LIST
        for part in value:
            yield from forms_of_value(part)


def forms_of_rows(rows: Sequence[Any]) -> set[Form]:
    """The forms of terms in rows of values, or in single values, of a Python program."""
    columns = zip(*rows, strict=False) if all(isinstance(row, (tuple, list)) for row in rows) else [rows]
    terms = [column for column in columns if not _PLAIN.issuperset(map(type, column))]
    return {form for column in terms for value in column for form in forms_of_value(value)}


def forms_of_rules(rules: Iterable[Rule]) -> set[Form]:
    """The forms of terms that rules make, as far as their text tells: a function of the host program may give lists."""
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
