"""Everything known about a program without running it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

from corollary.analysis.lowering import body_with_universe, lower, with_external_facts, with_precision
from corollary.analysis.meaning import Meaning
from corollary.analysis.modules import module_name
from corollary.analysis.predicates import PredicateInfo, check_arities, check_definitions, check_names, predicates_of
from corollary.analysis.rule_graph import RuleGraph
from corollary.analysis.safety import check_query_safety, check_rule_safety
from corollary.analysis.stratification import check_stratification
from corollary.analysis.suspicions import ShapedRules, check_suspicions, check_traps
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue
from corollary.language import Parsed, goes_on, parse, print_rule, without_garbage_collection
from corollary.program import (
    EQUALITY,
    Aggregation,
    Atom,
    Constant,
    Negation,
    Program,
    Rule,
    Variable,
    Wildcard,
    atoms_of,
)
from corollary.program.arities import SizedName, with_arities
from corollary.program.patterns import Form, forms_of_rows, forms_of_rules
from corollary.settings import ALL_BITS

_SIMPLE = (Variable, Wildcard, Constant)


@dataclass(frozen=True)
class Analysis:
    """A program, its rule graph, and its errors and warnings."""

    program: Program
    graph: RuleGraph
    diagnostics: tuple[Diagnostic, ...]
    meaning: Meaning = field(default_factory=Meaning)
    known: Mapping[str, int] = field(default_factory=dict)
    """Predicates that have facts, or once had some, with their arities, whether or not the text mentions them."""
    known_forms: frozenset[Form] = frozenset()
    """Forms of terms that facts have, or once had, whether or not the text mentions them."""

    @cached_property
    def lowered(self) -> RuleGraph:
        """The program as plain rules; its own rules if they are plain."""
        if self._is_plain:
            return self.graph
        return lower(self.graph, self.meaning, self._arities, self.forms)

    @property
    def _is_plain(self) -> bool:
        """Whether no rewriting is needed."""
        if EQUALITY in self._arities or self.meaning.has_universe or self.meaning.precision != ALL_BITS:
            return False
        return not self.graph.has_undecided and not any(map(_may_negate_terms, self.graph.rules.values()))

    @cached_property
    def evaluated(self) -> RuleGraph:
        """The rules that engines run: the plain ones, with modules for closures among others."""
        has_shared_nodes = any(len(node.rules) > 1 for node in self.lowered.hyper_nodes)
        return with_external_facts(self.lowered) if self.meaning.modules and has_shared_nodes else self.lowered

    @cached_property
    def _arities(self) -> dict[str, int]:
        found = {facts.predicate: facts.arity for facts in self.program.facts}
        for rule in self.graph.rules.values():
            found[rule.head.predicate] = len(rule.head.arguments)
            for element in rule.body:
                if type(element) is Atom:
                    found[element.predicate] = len(element.arguments)
                else:
                    found |= {atom.predicate: atom.arity for atom, _ in atoms_of((element,))}
        return {**self.known, **found}

    @cached_property
    def forms(self) -> frozenset[Form]:
        """The forms of terms that facts may have, needed only if constants may turn out to be equal."""
        if not self.has_equality:
            return self.known_forms
        explicit = (forms_of_rows(facts.rows) for facts in self.program.facts)
        return self.known_forms.union(forms_of_rules(self.graph.rules.values()), *explicit)

    @property
    def has_equality(self) -> bool:
        """Whether a rule or a fact says that constants are equal."""
        return EQUALITY in self._arities

    def knowing(self, arities: Mapping[str, int], forms: Callable[[], Set[Form]] = frozenset) -> Analysis:
        """Return the analysis with facts of these predicates and with terms of these forms; the same object if nothing
        differs.

        `forms` is called only if constants may turn out to be equal.
        """
        found = {**self._arities, **arities}
        matters = found != self._arities and (self.meaning.has_universe or EQUALITY in found)
        after = replace(self, known=found) if matters else self
        if not after.has_equality or (met := forms()) <= after.forms:
            return after
        return replace(after, known_forms=after.forms | met)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the program, with comparisons limited to the set number of significant bits of doubles."""
        return with_precision(tuple(self.graph.rules.values()), self.meaning.precision)

    @property
    def limited_rules(self) -> tuple[Rule, ...]:
        """The rules, with the universe as the range of each unlimited variable if the semantics says so."""
        if not self.meaning.has_universe:
            return self.rules
        return tuple(replace(rule, body=body_with_universe(rule)) for rule in self.rules)

    @cached_property
    def is_lowered(self) -> bool:
        """Whether the plain rules differ from `rules`."""
        return self.lowered is not self.graph and tuple(self.lowered.rules.values()) != self.rules

    def with_diagnostics(self, diagnostics: tuple[Diagnostic, ...]) -> Analysis:
        """Return the analysis with other diagnostics; everything else that is known about the program is kept."""
        return self._with_what_is_known(replace(self, diagnostics=diagnostics), "evaluated")

    def _with_what_is_known(self, other: Analysis, *more: str) -> Analysis:
        kept = ("lowered", "_arities", "forms", "rules", "predicates", "is_lowered", *more)
        other.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return other

    def under(self, meaning: Meaning) -> Analysis:
        """Return the analysis of the program under another semantics, which may find other errors."""
        if meaning == self.meaning:
            return self
        if meaning == replace(self.meaning, modules=meaning.modules):
            return self._with_what_is_known(replace(self, meaning=meaning))
        if meaning.mixed_arities and not self.meaning.mixed_arities:
            return self._with_arities(meaning)
        kept = [
            one for one in self.diagnostics if one.kind not in (catalogue.UNSAFE_VARIABLE, catalogue.NOT_STRATIFIED)
        ]
        found = _about(self.program, self.graph, meaning)
        return Analysis(self.program, self.graph, _in_order([*kept, *found]), meaning, self.known, self.known_forms)

    def _with_arities(self, meaning: Meaning) -> Analysis:
        """Return the analysis with arities in the names of predicates. Diagnostics of the reader stay."""
        read = [one for one in self.diagnostics if one.code[1] == "1"]
        again = analyse(with_arities(self.program))
        found = Analysis(
            again.program,
            again.graph,
            _in_order([*read, *again.diagnostics]),
            Meaning(mixed_arities=True),
            self.known,
            self.known_forms,
        )
        return found.under(meaning)

    @property
    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]

    @property
    def warnings(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if not diagnostic.is_error]

    @cached_property
    def predicates(self) -> dict[str, PredicateInfo]:
        return self.predicates_of(self.program)

    def predicates_of(self, program: Program) -> dict[str, PredicateInfo]:
        """Return the predicates of a part of the program."""
        found = predicates_of(program)
        if not self.meaning.mixed_arities:
            return found
        # A directive may name several predicates at once; it adds none of its own.
        return {name: info for name, info in found.items() if isinstance(name, SizedName) or name == EQUALITY}

    @cached_property
    def modules(self) -> list[str]:
        """The module name of each hyper-node, in order."""
        return [module_name(self.graph, node) for node in self.graph.hyper_nodes]

    def as_dict(self) -> dict[str, object]:
        """Return the object that `corollary check --json` prints."""
        graph = self.graph
        index = {name: position for position, node in enumerate(graph.hyper_nodes) for name in node.rules}
        return {
            "errors": [diagnostic.as_dict() for diagnostic in self.errors],
            "warnings": [diagnostic.as_dict() for diagnostic in self.warnings],
            "predicates": [
                {"name": info.name, "arity": info.arity, "defined_by": info.defined_by}
                for info in self.predicates.values()
            ],
            "rules": [
                {"name": rule.name, "text": print_rule(rule, self.program.prefixes), "hyper_node": index[rule.name]}
                for rule in graph.rules.values()
            ],
            "hyper_nodes": [list(node.rules) for node in graph.hyper_nodes],
            "positive_edges": [list(edge) for edge in graph.edges(strict=False)],
            "negative_edges": [list(edge) for edge in graph.edges(strict=True)],
            "strata": [graph.strata[node] for node in graph.hyper_nodes],
            "modules": self.modules,
        }


def _may_negate_terms(rule: Rule) -> bool:
    """Return whether a rule negates an atom with arguments other than variables and constants, also in an aggregation."""
    return any(
        type(element) is Aggregation
        or (
            type(element) is Negation
            and type(element.element) is Atom
            and any(type(argument) not in _SIMPLE for argument in element.element.arguments)
        )
        for element in rule.body
    )


def analyse(program: Program, tick: Callable[[], None] = goes_on) -> Analysis:
    """Return the analysis of a program that parsed without errors; `tick` is called now and then, and may stop it by
    raising."""
    with without_garbage_collection():
        return _analysed(program, tick)


def _analysed(program: Program, tick: Callable[[], None]) -> Analysis:
    graph = RuleGraph.of(program.rules, tick=tick)
    tick()
    known = Analysis(program, graph, ())
    shaped = ShapedRules(program.rules)
    unsafe = list(shaped.check(check_rule_safety))
    found = [
        *check_arities(program),
        *check_names(program),
        *(one for one in unsafe if one.kind is not catalogue.UNSAFE_VARIABLE),
        *(one for one in _query_mistakes(program) if one.kind is not catalogue.UNSAFE_VARIABLE),
        *_about(program, graph, Meaning(), unsafe, known),
        *check_suspicions(program, shaped),
        *check_traps(program, shaped),
        *check_definitions(program, known.predicates),
    ]
    return known.with_diagnostics(_in_order(found))


def _about(
    program: Program,
    graph: RuleGraph,
    meaning: Meaning,
    unsafe: list[Diagnostic] | None = None,
    known: Analysis | None = None,
) -> list[Diagnostic]:
    """Return the errors of a program under a semantics: unlimited variables, and negation through recursion."""
    found: list[Diagnostic] = []
    mistakes = unsafe or []
    if unsafe is None:
        mistakes = [one for rule in program.rules for one in check_safety(rule, meaning)]
    mistakes = [*mistakes, *([] if meaning.has_universe else _query_mistakes(program))]
    found += [one for one in mistakes if one.kind is catalogue.UNSAFE_VARIABLE]
    if meaning.is_well_founded:
        return found
    # Unsafe rules can only be analysed as they are.
    rules = graph if found else (known or Analysis(program, graph, (), meaning)).lowered
    return [*found, *check_stratification(rules, local=meaning.is_local)]


def check_safety(rule: Rule, meaning: Meaning) -> list[Diagnostic]:
    """Return errors for the unlimited variables of a rule under a meaning; with a universe, only for `_` where a value
    is needed."""
    return check_rule_safety(rule, body_with_universe(rule) if meaning.has_universe else None)


def _query_mistakes(program: Program) -> list[Diagnostic]:
    return [one for query in program.queries for one in check_query_safety(query)]


def analyse_texts(*sources: Source, tick: Callable[[], None] = goes_on) -> Analysis:
    """Read and analyse texts as one program; report mistakes in the text and in its meaning together.

    `tick` is called now and then, and may stop it by raising.
    """
    parsed = [parse(source, tick=tick) for source in sources]
    program = Program.of(statement for part in parsed for statement in part.program.statements)
    analysis = analyse(program, tick)
    about_text = [diagnostic for part in parsed for diagnostic in part.diagnostics]
    about_program = analysis.diagnostics
    if any(part.errors for part in parsed):
        # Unreadable text may have defined the predicates that seem to be missing.
        about_program = tuple(diagnostic for diagnostic in about_program if diagnostic.is_error)
    return analysis.with_diagnostics(_in_order([*about_text, *about_program], sources))


def checked(program: Program | Parsed) -> Analysis:
    """Return the analysis of a program without errors; otherwise raise `ProgramError` with all diagnostics."""
    parsed_diagnostics: tuple[Diagnostic, ...] = ()
    if isinstance(program, Parsed):
        parsed_diagnostics, program = program.diagnostics, program.program
    analysis = analyse(program)
    diagnostics = (*parsed_diagnostics, *analysis.diagnostics)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        raise ProgramError(diagnostics)
    return Analysis(program, analysis.graph, diagnostics)


def _in_order(diagnostics: list[Diagnostic], sources: Sequence[Source] = ()) -> tuple[Diagnostic, ...]:
    """Return the diagnostics by position in the texts; a warning at the position of an error is dropped."""
    order = {source: position for position, source in enumerate(sources)}
    wrong = {(d.span.source, d.span.start) for d in diagnostics if d.span and d.is_error}
    kept = [d for d in diagnostics if d.is_error or d.span is None or (d.span.source, d.span.start) not in wrong]
    return tuple(sorted(kept, key=lambda d: (order.get(d.span.source, 0), d.span.start) if d.span else (-1, 0)))
