"""Everything that can be said about a program without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from corollary.analysis.doubts import check_doubts
from corollary.analysis.modules import module_name
from corollary.analysis.predicates import PredicateInfo, check_arities, check_definitions, predicates_of
from corollary.analysis.rule_graph import RuleGraph
from corollary.analysis.safety import check_query_safety, check_rule_safety
from corollary.analysis.stratification import check_stratification
from corollary.diagnostics import Diagnostic, ProgramError, Source
from corollary.language import Parsed, parse, print_rule
from corollary.program import Program


@dataclass(frozen=True)
class Analysis:
    """A program, its rule graph, and what is wrong or doubtful about it."""

    program: Program
    graph: RuleGraph
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]

    @property
    def warnings(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if not diagnostic.is_error]

    @cached_property
    def predicates(self) -> dict[str, PredicateInfo]:
        return predicates_of(self.program)

    @cached_property
    def modules(self) -> list[str]:
        """A name per hyper-node, in order."""
        return [module_name(self.graph, node) for node in self.graph.hyper_nodes]

    def as_dict(self) -> dict[str, object]:
        """The object that `corollary check --json` prints."""
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


def analyse(program: Program) -> Analysis:
    """The analysis of a program that parsed without errors."""
    graph = RuleGraph.of(program.rules)
    found = [
        *check_arities(program),
        *(diagnostic for rule in program.rules for diagnostic in check_rule_safety(rule)),
        *(diagnostic for query in program.queries for diagnostic in check_query_safety(query)),
        *check_stratification(graph),
        *check_doubts(program),
        *check_definitions(program),
    ]
    return Analysis(program, graph, _in_order(found))


def analyse_texts(*sources: Source) -> Analysis:
    """Reads and analyses texts as one program; mistakes of the text and of what it says come together."""
    parsed = [parse(source) for source in sources]
    program = Program.of(statement for part in parsed for statement in part.program.statements)
    analysis = analyse(program)
    about_text = [diagnostic for part in parsed for diagnostic in part.diagnostics]
    about_program = analysis.diagnostics
    if any(part.errors for part in parsed):
        # What was not readable may have defined the predicates that seem to be missing.
        about_program = tuple(diagnostic for diagnostic in about_program if diagnostic.is_error)
    return Analysis(program, analysis.graph, _in_order([*about_text, *about_program], sources))


def checked(program: Program | Parsed) -> Analysis:
    """The analysis of a program without errors; raises `ProgramError` with all diagnostics otherwise."""
    parsed_diagnostics: tuple[Diagnostic, ...] = ()
    if isinstance(program, Parsed):
        parsed_diagnostics, program = program.diagnostics, program.program
    analysis = analyse(program)
    diagnostics = (*parsed_diagnostics, *analysis.diagnostics)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        raise ProgramError(diagnostics)
    return Analysis(program, analysis.graph, diagnostics)


def _in_order(diagnostics: list[Diagnostic], sources: Sequence[Source] = ()) -> tuple[Diagnostic, ...]:
    """By place in the texts, as far as they are known; what is an error needs no doubt at the same place."""
    order = {source: position for position, source in enumerate(sources)}
    wrong = {(d.span.source, d.span.start) for d in diagnostics if d.span and d.is_error}
    kept = [d for d in diagnostics if d.is_error or d.span is None or (d.span.source, d.span.start) not in wrong]
    return tuple(sorted(kept, key=lambda d: (order.get(d.span.source, 0), d.span.start) if d.span else (-1, 0)))
