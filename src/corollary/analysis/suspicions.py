"""Warnings about rules that most likely do not mean what their author intended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from corollary.analysis.value_kinds import NUMBERS, OTHERS, Kinds, ValueKinds, kind_of
from corollary.diagnostics import MOST_SHOWN, Diagnostic, Span, catalogue, did_you_mean
from corollary.program import (
    WORDS,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    EvaluationError,
    FactBlock,
    FunctionDeclaration,
    FunctionTerm,
    ListTerm,
    Minus,
    Negation,
    Program,
    Query,
    Rule,
    Structure,
    Term,
    Value,
    Variable,
    Wildcard,
    all_terms_of,
    find_builtin,
    subterms,
    variables_of,
    without_names,
)
from corollary.program.arithmetic import is_number, number_of
from corollary.program.builtins import similar_names
from corollary.program.builtins.declaration import FUNC, PRED, TAKES, shortened
from corollary.program.evaluation import evaluate_term
from corollary.program.patterns import is_ground, pattern_variables

# -- shapes ------------------------------------------------------------------------------------------------------------

# Rules of the same shape: they differ only in predicates, constants in atoms and spans.
#
# Long programs repeat few shapes. Whatever depends only on the shape of a rule is computed once per shape.

Shape = tuple[object, ...]
T = TypeVar("T", bound=Term)


class ShapedRules:
    """Rules with their shapes; rules with anything but plain atoms and comparisons have none."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._shapes = [shape_of(rule) for rule in rules]

    def check(self, check: Callable[[Rule], Iterable[Diagnostic]], *, texts: bool = False) -> Iterator[Diagnostic]:
        """Yield what a check finds in each rule; if it finds nothing, it finds nothing in other rules of that shape.

        With `texts`, the check reads texts, so it runs for every rule of a shape with texts.
        """
        fine: set[Shape] = set()
        for rule, shape in zip(self.rules, self._shapes, strict=True):
            if shape in fine:
                continue
            found = list(check(rule))
            yield from found
            if shape is not None and not found and not (texts and _TEXT in shape):
                fine.add(shape)


_TEXT, _OTHER, _ANY, _IF, _NOT, _COMPARED = range(6)  # distinct from all names of variables


def shape_of(rule: Rule) -> Shape | None:
    """Return the shape of a rule; None if it has terms other than variables and constants, or aggregations.

    Predicates and constants of atoms are left out; names of variables and compared constants are included.
    """
    found: list[object] = []
    if not _add_arguments(rule.head.arguments, found):
        return None
    for element in rule.body:
        sort = type(element)
        if sort is Negation:
            found.append(_NOT)
            element = element.element  # type: ignore[union-attr]
            sort = type(element)
        if sort is Comparison:
            sides = (element.left, element.right)  # type: ignore[union-attr]
            if any(type(side) not in (Variable, Constant) for side in sides):
                return None
            found += (_COMPARED, element.operator, *sides)  # type: ignore[union-attr]
            if any(type(side) is Constant and isinstance(side.value, str) for side in sides):
                found.append(_TEXT)
        elif sort is Atom:
            found.append(_IF)
            if not _add_arguments(element.arguments, found):  # type: ignore[union-attr]
                return None
        else:
            return None
    return tuple(found)


def _add_arguments(arguments: Iterable[Term], found: list[object]) -> bool:
    """Add the arguments of an atom to a shape; return False if one is neither a variable nor a constant."""
    for argument in arguments:
        kind = type(argument)
        if kind is Variable:
            found.append(argument.name)  # type: ignore[union-attr]
        elif kind is Constant:
            found.append(_TEXT if isinstance(argument.value, str) else _OTHER)  # type: ignore[union-attr]
        elif kind is Wildcard:
            found.append(_ANY)
        else:
            return False
    return True


# -- suspicions --------------------------------------------------------------------------------------------------------


def check_suspicions(program: Program, shaped: ShapedRules) -> Iterator[Diagnostic]:
    yield from _rule_names(program)
    yield from shaped.check(single_occurrences)
    yield from _nearly_builtin(program, shaped)
    yield from _shared_aggregates(program)
    yield from _repeated_rules(program)


def _rule_terms(rule: Rule) -> Iterator[Term]:
    yield from rule.head.arguments
    for element in rule.body:
        yield from all_terms_of(element)


def single_occurrences(rule: Rule) -> Iterator[Diagnostic]:
    """Return a warning for each variable that a rule mentions once."""
    variables = [part for term in _rule_terms(rule) for part in subterms(term) if isinstance(part, Variable)]
    counts = Counter(variable.name for variable in variables)
    counted = set(map(id, _aggregated_variables(rule)))
    for variable in variables if rule.body else ():
        if counts[variable.name] == 1 and not variable.name.startswith("_"):
            message = f"variable {variable.name} occurs only once in rule {rule.name}"
            hint = "write _ if the value does not matter"
            if id(variable) in counted:
                hint = f"to keep equal values apart, write _{variable.name}; _ would not"
            if variable.name in ("True", "False"):
                hint = f"the boolean is written {variable.name.lower()}"
            yield Diagnostic(catalogue.SINGLE_OCCURRENCE, message, variable.span, hint)


def _aggregated_variables(rule: Rule) -> Iterator[Variable]:
    """Yield the variables of bodies that an aggregate ranges over, where a name distinguishes bindings and `_` does not."""
    for element in rule.body:
        if rule.has_head_aggregate or isinstance(element, Aggregation):
            yield from (variable for term in all_terms_of(element) for variable in variables_of(term))


def _nearly_builtin(program: Program, shaped: ShapedRules) -> Iterator[Diagnostic]:
    declared = {declaration.name for declaration in program.of_type(FunctionDeclaration)}

    def check(rule: Rule) -> Iterator[Diagnostic]:
        for term in _rule_terms(rule):
            for part in subterms(term):
                if not isinstance(part, FunctionTerm) or find_builtin(part.name) or part.name in declared:
                    continue
                hint = did_you_mean(shortened(part.name), [*WORDS, *similar_names(part.name)])
                if hint is None and part.name.startswith((FUNC, PRED)):
                    hint = "`corollary builtins` lists all of them"
                if hint is not None:
                    message = f"'{shortened(part.name)}' is not a built-in function, so this is a function term"
                    yield Diagnostic(catalogue.NEARLY_BUILTIN, message, part.span, hint)

    return shaped.check(check)


def _shared_aggregates(program: Program) -> Iterator[Diagnostic]:
    """Yield warnings for predicates with several aggregation rules: paper 000 forbids that; here their facts are
    united, which may surprise."""
    first: dict[str, Rule] = {}
    for rule in program.rules:
        if rule.has_head_aggregate or any(isinstance(element, Aggregation) for element in rule.body):
            known = first.setdefault(rule.head.predicate, rule)
            if known is not rule:
                message = f"{known.name} and {rule.name} both aggregate into '{rule.head.predicate}'"
                hint = "the predicate has the facts of both: a group may get several values"
                yield Diagnostic(catalogue.SHARED_AGGREGATE, message, rule.head.span, hint)


def _shape(rule: Rule) -> tuple[object, ...]:
    """Return a key that rules with equal meaning share, and most others do not."""
    return rule.head.predicate, *(one.predicate if isinstance(one, Atom) else type(one) for one in rule.body)


def _repeated_rules(program: Program) -> Iterator[Diagnostic]:
    shapes = list(map(_shape, program.rules))
    alike = Counter(shapes)
    seen: dict[Rule, Rule] = {}
    for rule, shape in zip(program.rules, shapes, strict=True):
        if alike[shape] == 1:
            continue
        known = seen.setdefault(without_names(rule), rule)
        if known is not rule and rule.body:
            message = f"rule {rule.name} is a duplicate of {known.name}"
            yield Diagnostic(catalogue.REPEATED_RULE, message, rule.head.span, "remove one of them")


def _rule_names(program: Program) -> Iterator[Diagnostic]:
    """Yield one error per clause whose name, or the name of one of its heads, is in use."""
    first: dict[str, Rule] = {}
    reported: set[Span] = set()
    for rule in program.rules:
        known = first.setdefault(rule.name, rule)
        if known is rule or rule.span in reported:
            continue
        message, hint = f"two rules have the name '{rule.name}'", "choose another name"
        span, notes = rule.span, tuple[str, ...]()
        if span is not None and known.span is not None:
            reported.add(span)
            name = span.text.partition(":")[0]
            span, notes = span.source.span(span.start, span.start + len(name)), (f"the other one is at {known.span!r}",)
            hint += f"; if '{name}:' is meant as a prefix, declare it: @prefix {name}: <http://…> ."
        yield Diagnostic(catalogue.DUPLICATE_RULE_NAME, message, span, hint, notes)


# -- traps -------------------------------------------------------------------------------------------------------------

# Rules that can never do what their author most likely meant: constants in place of variables, undefined functions,
# expressions that never have a value, comparisons of values without a common order.

_BARE_WORD = re.compile(r"[a-z]\w*")
_LIKE_A_VARIABLE = re.compile(r"[u-zijkmn][0-9]*'?")
_ORDER = ("<", "<=", ">", ">=")


def check_traps(program: Program, shaped: ShapedRules) -> Iterator[Diagnostic]:
    """Yield errors and warnings about rules and queries that can never do what they seem to say."""
    yield from traps_of_rules(shaped, program)
    for query in program.queries:
        yield from _bodies_without_value(query.body)
    kinds = ValueKinds(program)
    yield from undefined_functions(kinds, (*program.rules, *program.queries))
    yield from without_order(kinds, (*program.rules, *program.queries))


def traps_of_rules(shaped: ShapedRules, program: Program) -> Iterator[Diagnostic]:
    """Yield the warnings for single rules; the facts of the program show which constants are intended."""

    def check(rule: Rule) -> Iterator[Diagnostic]:
        yield from _constant_rule(rule, program)
        yield from _terms_without_value(rule.head.arguments)
        yield from _bodies_without_value(rule.body)

    return shaped.check(check, texts=True)


def warnings_of_query(query: Query, kinds: ValueKinds) -> Iterator[Diagnostic]:
    """Yield the warnings for a query that is not part of the program."""
    yield from _bodies_without_value(query.body)
    yield from without_order(kinds, [query])


def _bodies(program: Program) -> list[tuple[BodyElement, ...]]:
    return [*(rule.body for rule in program.rules), *(query.body for query in program.queries)]


def _elements(body: Iterable[BodyElement]) -> Iterator[BodyElement]:
    """Yield the elements of a body and of the aggregations in it; for a negation, its element."""
    for element in body:
        if isinstance(element, Negation):
            yield element.element
        else:
            yield element
        if isinstance(element, Aggregation):
            yield from _elements(element.body)


# -- constants in place of variables -----------------------------------------------------------------------------------


def _constant_rule(rule: Rule, program: Program) -> Iterator[Diagnostic]:
    """Yield a warning for a rule without a variable, or with a constant that looks like one: `path(x, y) :- edge(x, y).`"""
    if not _has_texts(rule):
        return
    atoms = [element for element in _elements(rule.body) if isinstance(element, Atom)]
    if not atoms:
        return
    terms = [part for term in _all_terms(rule) for part in subterms(term)]
    words = [part for part in terms if isinstance(part, Constant) and _is_bare_word(part)]
    names = dict.fromkeys(str(word.value) for word in words)
    has_variable = any(isinstance(part, (Variable, Wildcard)) for part in terms)
    if not has_variable:
        shared = [name for name in names if _is_joined(name, rule.head, atoms)]
        if shared and not _in_facts(shared, program):
            are = "is a constant" if len(shared) == 1 else "are constants"
            message = f"rule {rule.name} has no variable: {_listed(shared)} {are}"
            yield Diagnostic(catalogue.CONSTANT_RULE, message, rule.head.span, _as_variables(shared))
        return
    variables = {part.name for part in terms if isinstance(part, Variable)}
    aggregated = {
        part.value for term in _aggregated_terms(rule) for part in subterms(term) if isinstance(part, Constant)
    }
    for name in names:
        places = [word for word in words if word.value == name]
        if name in aggregated:
            message = f"'{name}' is a constant, so the aggregate is pointless"
            yield Diagnostic(catalogue.VARIABLE_LIKE_CONSTANT, message, places[0].span, _as_variables([name]))
            continue
        if name.capitalize() in variables or name.upper() in variables:
            if _LIKE_A_VARIABLE.fullmatch(name):
                message = f"'{name}' is a constant, not the variable {name.upper()} of rule {rule.name}"
                yield Diagnostic(catalogue.VARIABLE_LIKE_CONSTANT, message, places[0].span, _as_variables([name]))
        elif len(places) > 1 and _LIKE_A_VARIABLE.fullmatch(name):
            message = f"'{name}' is a constant, which occurs {len(places)} times in rule {rule.name}"
            yield Diagnostic(catalogue.VARIABLE_LIKE_CONSTANT, message, places[0].span, _as_variables([name]))


def _has_texts(rule: Rule) -> bool:
    """Return whether some constant of the rule may be a text, or is inside a term; most rules have none."""
    for element in (rule.head, *rule.body):
        if not isinstance(element, Atom):
            return True
        for argument in element.arguments:
            if type(argument) is Constant:
                if isinstance(argument.value, str):
                    return True
            elif type(argument) is not Variable and type(argument) is not Wildcard:
                return True
    return False


def _all_terms(rule: Rule) -> Iterator[Term]:
    yield from rule.head.arguments
    for element in rule.body:
        yield from all_terms_of(element)


def _is_bare_word(constant: Constant) -> bool:
    """Return whether the constant was written without quotes."""
    return (
        isinstance(constant.value, str)
        and constant.span is not None
        and _BARE_WORD.fullmatch(constant.span.text) is not None
    )


def _mentions(atom: Atom, name: str) -> bool:
    return any(isinstance(part, Constant) and part.value == name for term in atom.arguments for part in subterms(term))


def _is_joined(name: str, head: Atom, atoms: list[Atom]) -> bool:
    """Return whether a constant stands where a variable would join a body with its head, or looks like one and joins
    two atoms."""
    places = sum(_mentions(atom, name) for atom in atoms)
    if _mentions(head, name):
        return places > 0
    return places > 1 and _LIKE_A_VARIABLE.fullmatch(name) is not None


def _in_facts(names: list[str], program: Program) -> bool:
    """Return whether a fact contains one of these constants, which shows that it is intended."""
    return any(not {*names}.isdisjoint(row) for facts in program.facts for row in facts.rows)


def _aggregated_terms(rule: Rule) -> Iterator[Term]:
    """Yield the terms that the aggregates of a rule range over."""
    for term in rule.head.arguments:
        yield from (part.argument for part in subterms(term) if isinstance(part, AggregateTerm))
    for element in _elements(rule.body):
        if isinstance(element, Aggregation):
            yield from (operation.argument for operation in element.operations)


def _as_variables(names: list[str]) -> str:
    shown = _listed([name[:1].upper() + name[1:] for name in names])
    return f"a variable starts with a capital letter or with '?': {shown}; quoted text is always a string"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# -- undefined functions ----------------------------------------------------------------------------------------


def undefined_functions(kinds: ValueKinds, among: Sequence[Rule | Query]) -> Iterator[Diagnostic]:
    """Yield an error for each value of an undefined function: `X = strlen(S)`, `levenshtein(A, B) < 3`, `f(X) + 1`.

    A function term in arithmetic, or compared by order, never has a value. Elsewhere it builds a term, which is no
    mistake if facts or atoms contain such terms, if another comparison takes one apart, or if it is compared with what
    facts from elsewhere may contain.
    """
    suspects = [(one.body, [*_computed_in_head(one), *_function_values(one.body)]) for one in among]
    suspects = [(body, found) for body, found in suspects if found]
    if not suspects:
        return
    program = kinds.program
    declared = {declaration.name for declaration in program.of_type(FunctionDeclaration)}
    hints = FunctionHints()
    met: set[str] | None = None
    for body, values in suspects:
        bound = {variable.name for variable in _bound(body)}
        for term, other in values:
            if term.name in declared:
                continue
            if other is not None:
                if met is None:
                    bodies = [*_bodies(program), *(one.body for one in among)]
                    met = {*_names_of_terms(kinds, bodies), *_taken_apart(bodies)}
                if term.name in met or not _is_bound(term, bound) or _may_be_term(other, term, body, kinds):
                    continue
            yield _undefined(term, hints)


def _may_be_term(other: Term, term: FunctionTerm, body: tuple[BodyElement, ...], kinds: ValueKinds) -> bool:
    """Return whether a term is compared with a term of another form, or with a value from facts that may contain terms."""
    if isinstance(other, FunctionTerm):
        return other.name != term.name and find_builtin(other.name) is None
    if not isinstance(other, Variable):
        return isinstance(other, ListTerm)
    in_atoms = [one for one in body if isinstance(one, Atom) and any(other in subterms(term) for term in one.arguments)]
    found = kinds.of_variable(other.name, in_atoms)
    return bool(in_atoms) and (found is None or OTHERS in found)


_ELSEWHERE = {
    **dict.fromkeys(("strlen", "len", "str_len", "size"), "length"),
    **dict.fromkeys(("substr", "mid", "slice"), "substring"),
    **dict.fromkeys(("toupper", "to_upper", "ucase", "uppercase"), "upper"),
    **dict.fromkeys(("tolower", "to_lower", "lcase", "lowercase"), "lower"),
    **dict.fromkeys(("cat", "strcat", "concatenate"), "concat"),
    **dict.fromkeys(("match", "matches", "like", "regex_match", "rlike"), "pred:matches"),
    **dict.fromkeys(("contains", "instr", "strstr"), "pred:contains"),
    **dict.fromkeys(("int", "to_int", "tonumber", "to_number"), "xsd:integer"),
    **dict.fromkeys(("str", "to_string", "tostring"), "xsd:string"),
    **dict.fromkeys(("ceil",), "ceiling"),
    **dict.fromkeys(("greatest", "max"), "MAX"),
    **dict.fromkeys(("least", "min"), "MIN"),
}
"""Built-ins by the names that they have in other languages."""


class FunctionHints:
    """Hints about undefined functions. If there are many errors, later ones are not shown and get no hint."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str | None:
        if name not in self._known and len(self._known) < MOST_SHOWN:
            self._known[name] = _hint_for(name)
        return self._known.get(name)


def _hint_for(full_name: str) -> str:
    name = shortened(full_name)
    meant = _ELSEWHERE.get(name.lower())
    hint = f"did you mean '{meant}'?" if meant else did_you_mean(name, similar_names(full_name))
    hint = hint or did_you_mean(name, [*WORDS, *similar_names(name.upper())])
    return hint or (
        f"`corollary builtins` lists all functions, KnowledgeBase.register({name!r}, …) adds one; "
        f"a term is written as an argument of an atom: p({name}(…))"
    )


def _undefined(term: FunctionTerm, hints: FunctionHints) -> Diagnostic:
    message = f"there is no function '{shortened(term.name)}'"
    return Diagnostic(catalogue.UNDEFINED_FUNCTION, message, term.span, hints.of(term.name))


def _function_values(body: Iterable[BodyElement]) -> Iterator[tuple[FunctionTerm, Term | None]]:
    """Yield the function terms of a body that stand for a value, with what they are compared with; None if they must be
    computed."""
    for element in _elements(body):
        match element:
            case Comparison():
                for side, other in ((element.left, element.right), (element.right, element.left)):
                    yield from _value_terms(side, None if element.operator in _ORDER else other)
            case Assignment():
                yield from _value_terms(element.expression, element.variable)
            case Atom():
                yield from (found for argument in element.arguments for found in _computed_terms(argument))
            case Aggregation():
                for operation in element.operations:
                    yield from _aggregated_values(operation.function, operation.argument)
            case _:
                pass


def _computed_in_head(one: Rule | Query) -> Iterator[tuple[FunctionTerm, None]]:
    for argument in one.head.arguments if isinstance(one, Rule) else ():
        yield from _computed_terms(argument)
        for part in subterms(argument):
            if isinstance(part, AggregateTerm):
                yield from _aggregated_values(part.function, part.argument)


def _aggregated_values(function: str, argument: Term) -> Iterator[tuple[FunctionTerm, None]]:
    """Yield the function terms that a numeric aggregate would have to add up."""
    yield from _computed_terms(argument)
    is_term = isinstance(argument, FunctionTerm) and find_builtin(argument.name) is None
    if is_term and function in _OF_NUMBERS:
        assert isinstance(argument, FunctionTerm)
        yield argument, None


_OF_NUMBERS = ("sum", "avg", "median")


def _value_terms(term: Term, other: Term | None) -> Iterator[tuple[FunctionTerm, Term | None]]:
    if isinstance(term, FunctionTerm) and find_builtin(term.name) is None:
        yield term, other
    yield from _computed_terms(term)


def _computed_terms(term: Term) -> Iterator[tuple[FunctionTerm, None]]:
    """Yield the function terms inside a term that are arguments of arithmetic, or of a function that takes no terms."""
    for part in subterms(term):
        for operand in _operands(part):
            if isinstance(operand, FunctionTerm) and find_builtin(operand.name) is None:
                yield operand, None


def _operands(term: Term) -> Iterator[Term]:
    match term:
        case Arithmetic():
            yield from (term.left, term.right)
        case Minus():
            yield term.operand
        case FunctionTerm() if (function := find_builtin(term.name)) is not None and function.parameters.types:
            for place, argument in enumerate(term.arguments):
                if function.parameters.type_of(place) != "any":
                    yield argument
        case _:
            pass


def _bound(body: Iterable[BodyElement]) -> Iterator[Variable]:
    """Yield the variables with values from atoms, BIND and aggregations, or from a comparison with something that has one."""
    for element in body:
        match element:
            case Atom():
                for argument in element.arguments:
                    yield from pattern_variables(argument)
            case Assignment():
                yield element.variable
            case Aggregation():
                yield from element.group_by
                yield from (operation.result for operation in element.operations)
            case Comparison(operator="="):
                for side in (element.left, element.right):
                    if isinstance(side, Variable):
                        yield side
            case _:
                pass


def _names_of_terms(kinds: ValueKinds, bodies: list[tuple[BodyElement, ...]]) -> Iterator[str]:
    """Yield the names of the terms in facts, heads, and atoms of bodies."""
    yield from (name for name, _ in kinds.others.forms() if name is not None)
    for facts in kinds.program.facts:
        yield from _names_in_facts(facts)
    atoms = [rule.head for rule in kinds.program.rules]
    atoms += [element for body in bodies for element in _elements(body) if isinstance(element, Atom)]
    for atom in atoms:
        for argument in atom.arguments:
            yield from (part.name for part in subterms(argument) if isinstance(part, FunctionTerm))
            yield from (
                name for part in subterms(argument) if isinstance(part, Constant) for name in _names_in(part.value)
            )


def _names_in_facts(facts: FactBlock) -> Iterator[str]:
    for column in zip(*facts.rows, strict=True):
        if {Structure, tuple} & set(map(type, column)):
            for value in column:
                yield from _names_in(value)


def _names_in(value: Value) -> Iterator[str]:
    if isinstance(value, Structure):
        yield value.name
        for argument in value.arguments:
            yield from _names_in(argument)
    elif isinstance(value, tuple):
        for item in value:
            yield from _names_in(item)


def _taken_apart(bodies: list[tuple[BodyElement, ...]]) -> Iterator[str]:
    """Yield the names of the terms that a comparison takes apart: some variable has its value only from there."""
    for body in bodies:
        bound = {variable.name for variable in _bound(body)}
        for element in _elements(body):
            if isinstance(element, Comparison) and element.operator == "=":
                for side in (element.left, element.right):
                    for part in subterms(side):
                        if isinstance(part, FunctionTerm) and not _is_bound(part, bound):
                            yield part.name


def _is_bound(term: Term, bound: set[str]) -> bool:
    parts = list(subterms(term))
    has_wildcard = any(isinstance(part, Wildcard) for part in parts)
    return not has_wildcard and all(part.name in bound for part in parts if isinstance(part, Variable))


# -- expressions that never have a value -------------------------------------------------------------------------------


def _bodies_without_value(body: Iterable[BodyElement]) -> Iterator[Diagnostic]:
    for element in _elements(body):
        yield from _without_value(element)


def _without_value(element: BodyElement) -> Iterator[Diagnostic]:
    """Yield a warning for each expression that has no value, whatever the values of its variables."""
    if isinstance(element, Aggregation):
        terms: list[Term] = [operation.argument for operation in element.operations]
    else:
        terms = list(all_terms_of(element))
    yield from _terms_without_value(terms)
    if isinstance(element, Comparison) and element.operator in _ORDER:
        for side in (element.left, element.right):
            if isinstance(side, ListTerm) or (isinstance(side, Constant) and kind_of(side.value) is None):
                message = f"this never holds: '{element.operator}' compares numbers, strings, dates and times"
                yield Diagnostic(catalogue.NEVER_A_VALUE, message, side.span or element.span)


def _terms_without_value(terms: Iterable[Term]) -> Iterator[Diagnostic]:
    for term in terms:
        found = _never(term)
        if found is not None:
            part, reason = found
            yield Diagnostic(catalogue.NEVER_A_VALUE, f"this never has a value: {reason}", part.span)


def _never(term: Term) -> tuple[Term, str] | None:
    """Return the part of an expression that has no value, with the reason; None if it may have one."""
    for part in subterms(term):
        match part:
            case Arithmetic():
                for side in (part.left, part.right):
                    if isinstance(side, (ListTerm,)) or (isinstance(side, Constant) and number_of(side.value) is None):
                        return part, f"'{part.operator}' needs numbers"
                reason = _failure(part)
            case FunctionTerm():
                reason = _failing_call(part)
            case _:
                reason = None
        if reason is not None:
            return part, reason
    return None


def _failing_call(call: FunctionTerm) -> str | None:
    function = find_builtin(call.name)
    if function is None or not function.parameters.types:
        return None
    for place, argument in enumerate(call.arguments):
        wanted = function.parameters.type_of(place)
        if isinstance(argument, Constant) and TAKES[wanted](argument.value) is None:
            return f"{function.shown} needs {'an' if wanted[0] in 'aeiouAEIOU' else 'a'} {wanted}"
    if function.shown in _REGULAR_EXPRESSIONS and isinstance(call.arguments[1], Constant):
        # An invalid pattern has no value for any text, so it has none for the empty one.
        written = [one if isinstance(one, Constant) else Constant("") for one in call.arguments[1:]]
        return _failure(FunctionTerm(call.name, (Constant(""), *written)))
    return _failure(call)


_REGULAR_EXPRESSIONS = ("pred:matches", "func:replace", "REGEX")


def _failure(term: Term) -> str | None:
    """Return why a constant expression has no value; None if it has one."""
    if not is_ground(term) or any(
        isinstance(part, FunctionTerm) and find_builtin(part.name) is None for part in subterms(term)
    ):
        return None
    try:
        evaluate_term(term, {})
    except EvaluationError as error:
        return str(error)
    return None


# -- values without a common order -------------------------------------------------------------------------------------


def without_order(kinds: ValueKinds, among: Iterable[Rule | Query]) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison by order of values that never have a common order."""
    compared = [
        (one.body, element)
        for one in among
        for element in _elements(one.body)
        if isinstance(element, Comparison) and element.operator in _ORDER and _has_kinds(element)
    ]
    for body, element in compared:
        left, right = (_kinds_of(side, body, kinds) for side in (element.left, element.right))
        if not left or not right or left & right:
            continue
        one, held, other, others = element.left, left, element.right, right
        if isinstance(one, Constant):
            one, held, other, others = other, others, one, held
        kind, wanted = _listed(sorted(held)), _listed(sorted(others))
        message = f"{kind} are never compared with {wanted}"
        if isinstance(one, Variable):
            second = f" and {other.name} only {wanted}" if isinstance(other, Variable) else ""
            message = f"{one.name} only holds {kind} here{second}, and {message}"
        is_quoted = isinstance(other, Constant) and is_number(other.value)
        hint = "should the number be a string, in quotes?" if is_quoted else "this comparison never holds"
        yield Diagnostic(catalogue.NO_COMMON_ORDER, message, element.span, hint)


def _has_kinds(comparison: Comparison) -> bool:
    sides = (comparison.left, comparison.right)
    return all(isinstance(side, (Variable, Constant, Arithmetic, Minus)) for side in sides) and not (
        all(isinstance(side, (Arithmetic, Minus)) or _is_number(side) for side in sides)
    )


def _is_number(term: Term) -> bool:
    return isinstance(term, Constant) and is_number(term.value)


def _kinds_of(term: Term, body: tuple[BodyElement, ...], kinds: ValueKinds) -> Kinds | None:
    """Return the kinds that a side of a comparison may have; None if unknown, or without an order."""
    match term:
        case Variable():
            return kinds.of_variable(term.name, body)
        case Constant():
            kind = kind_of(term.value)
            return None if kind is None else frozenset({kind})
        case _:
            return frozenset({NUMBERS})
