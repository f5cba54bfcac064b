"""The predicates of a program: their arities, what defines them, and warnings about their use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corollary.diagnostics import MOST_SHOWN, Diagnostic, KnownNames, Span, catalogue
from corollary.language.build import FORMS
from corollary.program import Atom, FactBlock, FunctionDeclaration, Program, atoms_of
from corollary.program.builtins import find_builtin, find_condition, meant_condition, similar_names
from corollary.program.builtins.declaration import shortened


@dataclass(frozen=True)
class PredicateInfo:
    """One predicate; `arity` is None if only a directive mentions it."""

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


_Use = tuple[str, int, Span | None]
"""A predicate with its arity and position at one use."""


def predicates_of(program: Program) -> dict[str, PredicateInfo]:
    """Return every predicate that the program mentions, in order of appearance."""
    with_facts = {facts.predicate for facts in program.facts}
    with_rules = {rule.head.predicate for rule in program.rules}
    with_input = dict.fromkeys(declaration.predicate for declaration in program.inputs)
    arities: dict[str, int | None] = {}
    for predicate, arity, _ in _uses(program):
        arities.setdefault(predicate, arity)
    for name in [*with_input, *(declaration.predicate for declaration in program.outputs)]:
        arities.setdefault(name, None)
    return {
        name: PredicateInfo(name, arity, name in with_facts, name in with_rules, name in with_input)
        for name, arity in arities.items()
    }


def check_arities(program: Program) -> Iterator[Diagnostic]:
    """Yield one error per predicate and arity that differs from the first use."""
    first: dict[str, _Use] = {}
    reported: set[tuple[str, int]] = set()
    for use in _uses(program):
        predicate, arity, span = use
        _, known, first_span = first.setdefault(predicate, use)
        if arity != known and (predicate, arity) not in reported:
            reported.add((predicate, arity))
            shown = _shown(predicate, program)
            message = f"'{shown}' has {_arguments(arity)} here, but {_arguments(known)} elsewhere"
            place = f"{_arguments(known)} at {first_span!r}" if first_span else None
            hint = "a predicate has a fixed number of arguments: use two different names"
            yield Diagnostic(catalogue.ARITY_MISMATCH, message, span, hint, (place,) if place else ())


def check_names(program: Program) -> Iterator[Diagnostic]:
    """Yield one error per built-in for which the program has facts or rules."""
    reported: set[str] = set()
    for predicate, _, span in _definitions(program):
        if predicate not in reported and (found := find_condition(predicate)) is not None:
            reported.add(predicate)
            message = f"'{shortened(predicate)}' is a built-in: it cannot have facts or rules"
            hint = f"{found.signature}: {found.summary}; take another name for the predicate"
            yield Diagnostic(catalogue.DEFINED_BUILTIN, message, span, hint)


def check_functions(program: Program) -> Iterator[Diagnostic]:
    """Yield an error for each function that the program declares and the host program has not registered accordingly."""
    for declaration in program.of_type(FunctionDeclaration):
        found = find_builtin(declaration.name)
        if found is None or not found.parameters.take(declaration.arity):
            missing = "has not been registered" if found is None else f"takes {found.parameters.counts}"
            message = f"the function '{declaration.name}' of {_arguments(declaration.arity)} {missing}"
            hint = f"before the rules are read: KnowledgeBase.register({declaration.name!r}, function)"
            yield Diagnostic(catalogue.MISSING_FUNCTION, message, declaration.span, hint)


def check_definitions(program: Program, known: Mapping[str, PredicateInfo]) -> Iterator[Diagnostic]:
    """Yield a warning for each predicate that bodies or queries use and that nothing defines, at its first use."""
    defined = {name for name, info in known.items() if info.has_facts or info.has_input or info.has_rules}
    if len(defined) == len(known):
        return
    in_rules = {atom.predicate for rule in program.rules for atom, _ in atoms_of(rule.body)}
    warned: set[str] = set()
    names: KnownNames | None = None  # as the program may write them; made for the first hint
    for atom in [*_body_atoms(program), *_query_atoms(program)]:
        name = atom.predicate
        if name in defined or name in warned:
            continue
        warned.add(name)
        form = FORMS.get(name.lower())
        shown = _shown(name, program)
        hint = f"is this meant: {form}?" if form else None
        if (
            hint is None and len(warned) <= MOST_SHOWN
        ):  # finding similar names is slow, and more hints would not be read
            names = names or KnownNames(_shown(one, program) for one in defined)
            hint = names.hint(shown, similar_names(name))
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
    """Return the name of a predicate as the program may write it, with a prefix if there is one for its IRI."""
    for prefix, namespace in program.prefixes.items():
        if namespace and name.startswith(namespace) and name != namespace:
            return f"{prefix}:{name.removeprefix(namespace)}"
    return shortened(name)


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _uses(program: Program) -> Iterator[_Use]:
    """Yield every use of a predicate, in the order of the text as far as statements go."""
    yield from _definitions(program)
    for atom in [*_body_atoms(program), *_query_atoms(program)]:
        yield atom.predicate, len(atom.arguments), atom.span


def _definitions(program: Program) -> Iterator[_Use]:
    for facts in program.facts:
        yield facts.predicate, facts.arity, _first_fact(facts)
    for rule in program.rules:
        head = rule.head
        yield head.predicate, len(head.arguments), head.span


def _first_fact(facts: FactBlock) -> Span | None:
    """Return the first line of a run of facts; the whole run would be too long to underline."""
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
