"""Equality in rule heads (paper 001, section 2.2.3): constants found to be equal replace each other everywhere.

The pairs derived by `X = Y :- body` are closed symmetrically and transitively in an auxiliary predicate, and every
predicate gets a rule for each of its arguments by which a fact about a constant holds for all equal constants. With
function terms or lists, terms with equal parts are equal: for each predicate, auxiliary predicates hold the terms in
its facts, at any depth, and the terms that one replacement leads to. They are separate for each predicate: a single
relation of all terms would make everything depend on everything, and no negation would be stratified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from corollary.analysis.lowering.bodies import variables
from corollary.program import EQUALITY, Atom, Comparison, Rule, Term, Variable, Wildcard
from corollary.program.patterns import Form, pattern_of, places_of

SAME = "\0same"
_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")
_WHOLE, _OTHER = Variable("Whole"), Variable("Other")


def with_congruence(rules: tuple[Rule, ...], arities: Mapping[str, int], forms: Set[Form]) -> tuple[Rule, ...]:
    """Return the rules, with those that replace constants by equal ones if some rule or fact states an equality."""
    if EQUALITY not in arities:
        return rules
    ordered = sorted(filter(places_of, forms), key=lambda form: (form[0] or "", form[1]))
    others = {predicate: arity for predicate, arity in arities.items() if predicate != EQUALITY}
    return (*rules, *_equivalence(ordered), *_congruence(others), *_congruence_inside(others, ordered))


def _equivalence(forms: Sequence[Form]) -> Iterator[Rule]:
    yield Rule("same stated", Atom(SAME, (_X, _Y)), (Atom(EQUALITY, (_X, _Y)),))
    yield Rule("same symmetric", Atom(SAME, (_Y, _X)), (Atom(SAME, (_X, _Y)),))
    yield Rule("same transitive", Atom(SAME, (_X, _Z)), (Atom(SAME, (_X, _Y)), Atom(SAME, (_Y, _Z))))
    yield from _terms_inside(SAME, 1, forms)
    yield from _with_other_parts(SAME, SAME, forms)


def _congruence(arities: Mapping[str, int]) -> Iterator[Rule]:
    for predicate, arity in arities.items():
        for position in range(arity):
            yield _replacing(predicate, arity, position, SAME, f"{_plain(predicate)} same {position + 1}")


def _congruence_inside(arities: Mapping[str, int], forms: Sequence[Form]) -> Iterator[Rule]:
    for predicate, arity in arities.items() if forms else ():
        if not arity:
            continue
        replaced = f"\0replaced\0{predicate}"
        yield from _terms_inside(predicate, arity, forms)
        body = (_inside(predicate, _WHOLE), Atom(SAME, (_WHOLE, _OTHER)))
        yield Rule(f"{_plain(predicate)} part same", Atom(replaced, (_WHOLE, _OTHER)), body)
        yield from _with_other_parts(predicate, replaced, forms)
        for position in range(arity):
            yield _replacing(predicate, arity, position, replaced, f"{_plain(predicate)} inside same {position + 1}")


def _replacing(predicate: str, arity: int, position: int, by: str, name: str) -> Rule:
    known, other = variables(arity), Variable(f" y{position}")
    head = (*known[:position], other, *known[position + 1 :])
    return Rule(name, Atom(predicate, head), (Atom(predicate, known), Atom(by, (known[position], other))))


# -- terms -------------------------------------------------------------------------------------------------------------


def _terms_inside(predicate: str, arity: int, forms: Sequence[Form]) -> Iterator[Rule]:
    """Yield rules for the function terms and lists in facts of a predicate, and for everything inside these."""
    plain = _plain(predicate)
    width = 2 if predicate == SAME else arity
    for form in forms:
        unknown = tuple(Wildcard() for _ in range(places_of(form)))
        for position in range(arity):
            known = variables(width)
            body = (Atom(predicate, known), Comparison("=", known[position], pattern_of(form, unknown)))
            yield Rule(f"{plain} has {_name(form)} at {position + 1}", _inside(predicate, known[position]), body)
        parts = variables(places_of(form))
        taken = Comparison("=", _WHOLE, pattern_of(form, parts))
        yield Rule(f"{plain} parts of {_name(form)}", _taken(predicate, form), (_inside(predicate, _WHOLE), taken))
        for place, part in enumerate(parts):
            name = f"{plain} has part {place + 1} of {_name(form)}"
            yield Rule(name, _inside(predicate, part), (_taken(predicate, form),))


def _with_other_parts(predicate: str, replaced: str, forms: Sequence[Form]) -> Iterator[Rule]:
    """Yield rules that replace one part of a term in facts of a predicate."""
    plain = _plain(predicate)
    for form in forms:
        parts = variables(places_of(form))
        for place, part in enumerate(parts):
            made = pattern_of(form, (*parts[:place], _OTHER, *parts[place + 1 :]))
            body = (_taken(predicate, form), Atom(replaced, (part, _OTHER)))
            yield Rule(f"{plain} part {place + 1} of {_name(form)} same", Atom(replaced, (_WHOLE, made)), body)


def _plain(predicate: str) -> str:
    """Return a predicate for use in the name of a rule, different from the names of auxiliary ones such as 'same'."""
    return predicate.replace("\0", " ")


def _inside(predicate: str, term: Term) -> Atom:
    return Atom(f"\0inside\0{predicate}", (term,))


def _taken(predicate: str, form: Form) -> Atom:
    """Return an atom of terms with their parts, so that terms are found by a part."""
    return Atom(f"\0parts\0{predicate}\0{_name(form)}", (_WHOLE, *variables(places_of(form))))


def _name(form: Form) -> str:
    name, count = form
    return "list" if name is None else f"{name}/{count}"
