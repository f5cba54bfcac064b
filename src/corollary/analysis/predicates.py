"""The predicates of a program: how many arguments they take, what defines them, and doubts about their use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from corollary.diagnostics import Diagnostic, Span, catalogue, did_you_mean
from corollary.language.build import FORMS
from corollary.program import Atom, Facts, FunctionDeclaration, Program, atoms_of
from corollary.program.builtins import find_builtin, find_condition, meant_condition, similar_names
from corollary.program.builtins.declaration import shortened


@dataclass(frozen=True)
class PredicateInfo:
    """`arity` is None where only a directive mentions the predicate."""

    name: str
    arity: int | None
    has_facts: bool
    has_rules: bool
    has_input: bool

    @property
    def defined_by(self) -> str:
        """ "facts", "rules", "both" or "nothing"; an @input counts as facts."""
        facts = self.has_facts or self.has_input
        return {(True, True): "both", (True, False): "facts", (False, True): "rules", (False, False): "nothing"}[
            facts, self.has_rules
        ]


@dataclass(frozen=True)
class _Use:
    predicate: str
    arity: int
    span: Span | None


def predicates_of(program: Program) -> dict[str, PredicateInfo]:
    """Every predicate that the program mentions, in order of appearance."""
    with_facts = {facts.predicate for facts in program.facts}
    with_rules = {rule.head.predicate for rule in program.rules}
    with_input = dict.fromkeys(declaration.predicate for declaration in program.inputs)
    arities: dict[str, int | None] = {}
    for use in _uses(program):
        arities.setdefault(use.predicate, use.arity)
    for name in [*with_input, *(declaration.predicate for declaration in program.outputs)]:
        arities.setdefault(name, None)
    return {
        name: PredicateInfo(name, arity, name in with_facts, name in with_rules, name in with_input)
        for name, arity in arities.items()
    }


def check_arities(program: Program) -> Iterator[Diagnostic]:
    """One error per predicate and number of arguments that differs from the first use."""
    first: dict[str, _Use] = {}
    reported: set[tuple[str, int]] = set()
    for use in _uses(program):
        known = first.setdefault(use.predicate, use)
        if use.arity != known.arity and (use.predicate, use.arity) not in reported:
            reported.add((use.predicate, use.arity))
            shown = _shown(use.predicate, program)
            message = f"'{shown}' has {_arguments(use.arity)} here, but {_arguments(known.arity)} elsewhere"
            place = f"{_arguments(known.arity)} at {known.span!r}" if known.span else None
            hint = "a predicate has one number of arguments: give the two different names"
            yield Diagnostic(catalogue.ARITY_MISMATCH, message, use.span, hint, (place,) if place else ())


def check_names(program: Program) -> Iterator[Diagnostic]:
    """One error per built-in that the program gives facts or rules."""
    reported: set[str] = set()
    for use in _definitions(program):
        if use.predicate not in reported and (found := find_condition(use.predicate)) is not None:
            reported.add(use.predicate)
            message = f"'{shortened(use.predicate)}' is a built-in: it cannot have facts or rules"
            hint = f"{found.signature}: {found.summary}; take another name for the predicate"
            yield Diagnostic(catalogue.DEFINED_BUILTIN, message, use.span, hint)


def check_functions(program: Program) -> Iterator[Diagnostic]:
    """An error for each function that the program declares and the host program has not registered like that."""
    for declaration in program.of_type(FunctionDeclaration):
        found = find_builtin(declaration.name)
        if found is None or not found.parameters.take(declaration.arity):
            missing = "has not been registered" if found is None else f"takes {found.parameters.counts}"
            message = f"the function '{declaration.name}' of {_arguments(declaration.arity)} {missing}"
            hint = f"before the rules are read: KnowledgeBase.register({declaration.name!r}, function)"
            yield Diagnostic(catalogue.MISSING_FUNCTION, message, declaration.span, hint)


def check_definitions(program: Program) -> Iterator[Diagnostic]:
    """Warns of predicates that bodies or queries use and that nothing defines, at their first use."""
    known = predicates_of(program)
    defined = [name for name, info in known.items() if info.defined_by != "nothing"]
    in_rules = {atom.predicate for rule in program.rules for atom, _ in atoms_of(rule.body)}
    warned: set[str] = set()
    for atom in [*_body_atoms(program), *_query_atoms(program)]:
        name = atom.predicate
        if name in warned or known[name].defined_by != "nothing":
            continue
        warned.add(name)
        form = FORMS.get(name.lower())
        shown = _shown(name, program)
        known_names = [*(_shown(one, program) for one in defined), *similar_names(name)]
        hint = f"is this meant: {form}?" if form else did_you_mean(shown, known_names)
        if hint is None and (builtin := meant_condition(name)) is not None:
            hint = f"the built-in is written {builtin.shown}(…) in a body"
        elif hint is None and find_builtin(name) is not None:
            hint = f"the function is written {shown}(…) = true, or BIND({shown}(…) AS X), in a body"
        if name in in_rules:
            message = f"'{shown}' is used but never defined: no fact, no rule, no @input"
            yield Diagnostic(catalogue.UNDEFINED_PREDICATE, message, atom.span, hint)
        else:
            message = f"nothing mentions '{shown}', so it has no facts"
            yield Diagnostic(catalogue.UNKNOWN_IN_QUERY, message, atom.span, hint)


def _shown(name: str, program: Program) -> str:
    """The name of a predicate as the program may write it: with a prefix where one stands for the beginning of its IRI."""
    for prefix, namespace in program.prefixes.items():
        if namespace and name.startswith(namespace) and name != namespace:
            return f"{prefix}:{name.removeprefix(namespace)}"
    return shortened(name)


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _uses(program: Program) -> Iterator[_Use]:
    """Every use of a predicate, in the order of the text as far as statements go."""
    yield from _definitions(program)
    for atom in [*_body_atoms(program), *_query_atoms(program)]:
        yield _Use(atom.predicate, atom.arity, atom.span)


def _definitions(program: Program) -> Iterator[_Use]:
    for facts in program.facts:
        yield _Use(facts.predicate, facts.arity, _first_fact(facts))
    for rule in program.rules:
        yield _Use(rule.head.predicate, rule.head.arity, rule.head.span)


def _first_fact(facts: Facts) -> Span | None:
    """The first line of a run of facts: the whole run would be too long a caret."""
    if facts.span is None:
        return None
    source, start = facts.span.source, facts.span.start
    while start < facts.span.end and source.text[start].isspace():
        start += 1
    end = source.text.find(")", start, facts.span.end)
    return source.span(start, end + 1 if end >= 0 else facts.span.end)


def _body_atoms(program: Program) -> Iterator[Atom]:
    for rule in program.rules:
        yield from (atom for atom, _ in atoms_of(rule.body))


def _query_atoms(program: Program) -> Iterator[Atom]:
    for query in program.queries:
        yield from (atom for atom, _ in atoms_of(query.body))
