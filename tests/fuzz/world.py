"""The model: explicit facts and rules as they should be, and what the oracle says follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from corollary.analysis import analyse
from corollary.analysis.meaning import Meaning
from corollary.diagnostics import ProgramError
from corollary.language import parse_program, print_rule
from corollary.program import (
    EQUALITY,
    AggregateTerm,
    Aggregation,
    Assignment,
    Atom,
    BodyElement,
    Clause,
    Comparison,
    Constant,
    EvaluationError,
    FactBlock,
    Negation,
    Program,
    Query,
    Rule,
    Term,
    Variable,
    all_terms_of,
    atoms_of,
    evaluate_term,
    subterms,
)
from corollary.program.arities import query_with_arities, with_arities
from corollary.program.rewrite import rewrite_atom
from corollary.settings import Settings
from tests.engine_suite.scripts import State
from tests.generator import Change, Fact
from tests.generator.programs import key_of, program_of
from tests.oracle import Fact as ConstantFact
from tests.oracle import answer, evaluate
from tests.oracle.evaluator import Binding, Relations, extended_by, in_evaluation_order
from tests.oracle.well_founded import well_founded

MOST_FACTS = 5_000  # of a program that ends; generated ones have some dozen
GROWING = frozenset({"n1", "m1", "n", "m"})
"""The predicates that rules without an end derive."""
_MOST_GROWN = 120
_MOST_ROWS = 20_000  # of one rule that are looked at for errors


@dataclass(frozen=True)
class Truth:
    """What the oracle says of a program: its visible facts, those that are undefined, and what may be refused about it."""

    visible: State
    undefined: State
    wrong: frozenset[str] = frozenset()
    """Codes of the errors for which the program is refused."""
    is_endless: bool = False
    may_fail: bool = False
    """Whether some expression has no value, for an instance that satisfies the atoms of its rule."""
    must_fail: bool = False
    """Whether some expression has no value, for an instance that satisfies everything else of its rule."""

    @property
    def size(self) -> int:
        return sum(map(len, self.visible.values()))


class World:
    """Explicit facts and named rules; a change gives another world."""

    def __init__(self, facts: dict[tuple[str, object], Fact], clauses: dict[str, Clause], settings: Settings) -> None:
        self.facts = facts
        self.clauses = clauses
        self.settings = settings

    @classmethod
    def of(cls, facts: Iterable[Fact], clauses: Iterable[Clause], settings: Settings) -> World:
        return cls({key_of(fact): fact for fact in facts}, {str(one.name): one for one in clauses}, settings)

    def under(self, settings: Settings) -> World:
        return World(self.facts, self.clauses, settings)

    @cached_property
    def program(self) -> Program:
        return program_of(self.facts.values(), self.clauses.values())

    def after(self, change: Change) -> World | None:
        """The world after a change; None where it removes a rule that is not there, or gives one the name of another."""
        facts, clauses = dict(self.facts), dict(self.clauses)
        for fact in change.delete:
            facts.pop(key_of(fact), None)
        for fact in change.insert:
            facts.setdefault(key_of(fact), fact)
        for name in change.remove_rules:
            if name not in self.clauses:
                return None
            clauses.pop(name, None)
        for clause in change.add_rules:
            if clauses.get(str(clause.name), clause) != clause:
                return None
            clauses[str(clause.name)] = clause
        return World(facts, clauses, self.settings)

    def explicit(self) -> dict[str, int]:
        """How many explicit facts each predicate has, by full names."""
        found: dict[str, int] = {}
        for predicate, row in self.facts.values():
            name = self.name(predicate, len(row))
            found[name] = found.get(name, 0) + 1
        return found

    def name(self, predicate: str, width: int) -> str:
        mixed = self.settings.mixed_arities and predicate != EQUALITY
        return f"{predicate}/{width}" if mixed else predicate

    @cached_property
    def truth(self) -> Truth:
        return truth_of(self.program, self.settings)

    def may_fail_to_answer(self, query: Query) -> bool:
        """Whether an expression of a query has no value for some row that fits its atoms."""
        asked = query_with_arities(query) if self.settings.mixed_arities else query
        return _may_fail(asked.body, None, _relations(self.truth.visible, self.settings))

    def answers(self, query: Query) -> set[ConstantFact] | None:
        """The answers to a query; None where the oracle has none, or only a program that is refused would have them."""
        settings = self.settings
        if settings.semantics == "stratified" and settings.unsafe == "reject" and settings.precision == 53:
            # Rules that do not feed the query count only where an error in any rule does.
            is_feeding = self.truth.is_endless and settings.discards_errors
            truth = truth_of(_feeding(self.program, query), settings) if is_feeding else self.truth
            asked = query_with_arities(query) if settings.mixed_arities else query
            return None if truth.wrong or truth.is_endless else answer(asked, truth.visible)
        if has_equality(self.program):
            return None  # the head of a rule would have more: what equals its constants
        if settings.unsafe == "universe" and any(isinstance(part, Constant) for part in _parts(query)):
            return None  # the constants of a rule are part of the universe, those of a query are not
        head = Atom("answer", query.variables)
        truth = truth_of(Program((*self.program.statements, Clause((head,), query.body, "answer"))), settings)
        return None if truth.wrong or truth.is_endless else truth.visible.get(self.name("answer", head.arity), set())


def _parts(query: Query) -> Iterator[Term]:
    return (part for element in query.body for term in all_terms_of(element) for part in subterms(term))


def is_plain(settings: Settings, program: Program) -> bool:
    """Whether the evaluator of strata is the oracle; otherwise it is that of the well-founded semantics."""
    is_usual = settings.semantics == "stratified" and settings.unsafe == "reject" and settings.precision == 53
    return is_usual and not has_equality(program)


def has_equality(program: Program) -> bool:
    heads = {head.predicate for clause in program.of_type(Clause) for head in clause.heads}
    return EQUALITY in heads | {block.predicate for block in program.facts}


def truth_of(program: Program, settings: Settings) -> Truth:
    analysis = analyse(program).under(Meaning.of(settings))
    if wrong := frozenset(one.code for one in analysis.errors):
        return Truth({}, {}, wrong)
    read = with_arities(program) if settings.mixed_arities else program
    undefined: State = {}
    try:
        if is_plain(settings, program):
            most = MOST_FACTS
            kept = [clause for clause in read.of_type(Clause) if not _grows(clause)]
            if len(kept) < len(read.of_type(Clause)):
                ended = evaluate(Program((*read.facts, *kept)), max_facts=MOST_FACTS)
                most = sum(map(len, ended.values())) + _MOST_GROWN
            visible = evaluate(read, max_facts=most)
        else:
            visible, undefined = well_founded(read, unsafe=settings.unsafe == "universe", precision=settings.precision)
    except ProgramError:  # a limit on facts, or on the depth of terms
        return Truth({}, {}, is_endless=True)
    except ValueError:  # something is equal to too many constants
        return Truth({}, {}, is_endless=True)
    visible, undefined = ({name: rows for name, rows in found.items() if rows} for found in (visible, undefined))
    if settings.discards_errors:
        return Truth(visible, undefined)
    facts = _relations(visible, settings)
    rules = [rule for rule in read.rules if _computes(rule)]
    return Truth(
        visible,
        undefined,
        may_fail=any(_may_fail(rule.body, rule.head, facts) for rule in rules),
        must_fail=any(_must_fail(rule, facts) for rule in rules),
    )


def _grows(clause: Clause) -> bool:
    """Whether a rule derives a predicate that may grow without an end; with mixed arities its name is another."""
    return any(head.predicate.partition("/")[0] in GROWING for head in clause.heads)


def _relations(state: State, settings: Settings) -> Relations:
    facts = Relations(precision=settings.precision)
    for name, rows in state.items():
        facts.add(name, rows)
    return facts


def _feeding(program: Program, query: Query) -> Program:
    """The facts, and the rules that a query depends on."""
    wanted = {atom.predicate for atom, _ in atoms_of(query.body)}
    rules = list(program.of_type(Clause))
    while True:
        chosen = [clause for clause in rules if any(head.predicate in wanted for head in clause.heads)]
        more = wanted | {atom.predicate for clause in chosen for atom, _ in atoms_of(clause.body)}
        if more == wanted:
            return Program((*program.facts, *chosen))
        wanted = more


# -- expressions without a value ---------------------------------------------------------------------------------------


def _computes(rule: Rule) -> bool:
    text = print_rule(rule)
    return any(sign in text for sign in "+-*/%(") and not _is_simple(rule)


def _is_simple(rule: Rule) -> bool:
    plain = all(isinstance(element, Atom) for element in rule.body)
    return plain and all(isinstance(term, Variable) for atom in (rule.head, *rule.body) for term in atom.arguments)


def _fails(terms: Iterable[Term], row: Binding) -> bool:
    values = {name: constant.value for name, constant in row.items()}
    for term in terms:
        try:
            evaluate_term(term, values)
        except EvaluationError:
            return True
        except KeyError:  # a variable of an element that failed before
            return True
    return False


def _may_fail(body: Sequence[BodyElement], head: Atom | None, facts: Relations) -> bool:
    """Whether an expression has no value for some row that fits the atoms; no condition leaves a row out."""
    rows: list[Binding] = [{}]
    for element in in_evaluation_order(body):
        match element:
            case Negation(element=Comparison(left=left, right=right)):
                failed = any(_fails((left, right), row) for row in rows)
            case Negation(element=Atom(arguments=arguments)):
                bound = set(rows[0]) if rows else set()
                known = [one for one in arguments if not isinstance(one, Variable) or one.name in bound]
                failed = any(_fails([one for one in known if _has_value(one)], row) for row in rows)
            case Aggregation(body=inner, operations=operations):
                failed = _may_fail(inner, Atom("", tuple(one.argument for one in operations)), facts)
                rows = [extended for row in rows for extended in extended_by(element, row, facts)]
            case Assignment(expression=expression, variable=variable):
                failed = any(_fails((expression,), row) for row in rows)
                if not failed and rows and variable.name not in rows[0]:
                    rows = [extended for row in rows for extended in extended_by(element, row, facts)]
            case Comparison(left=left, right=right):
                unknown = [
                    one for one in (left, right) if rows and isinstance(one, Variable) and one.name not in rows[0]
                ]
                failed = any(_fails([one for one in (left, right) if one not in unknown], row) for row in rows)
                if not failed and unknown:
                    rows = [extended for row in rows for extended in extended_by(element, row, facts)]
            case _:
                failed = False
                rows = [extended for row in rows for extended in extended_by(element, row, facts)]
        if failed or len(rows) > _MOST_ROWS:
            return True
    if head is None:
        return False
    terms = [one.argument if isinstance(one, AggregateTerm) else one for one in head.arguments]
    is_aggregate = len(terms) and any(isinstance(one, AggregateTerm) for one in head.arguments)
    return bool(is_aggregate) or any(_fails(terms, row) for row in rows)


def _has_value(term: Term) -> bool:
    return not any(name in str(type(term)) for name in ("Wildcard",))


def _must_fail(rule: Rule, facts: Relations) -> bool:
    """Whether a comparison that gives no variable its value has a side without one, where everything else holds."""
    if rule.has_head_aggregate:
        return False
    for place, element in enumerate(rule.body):
        if not isinstance(element, Comparison) or not (_is_division(element.left) or _is_division(element.right)):
            continue
        rest = (*rule.body[:place], *rule.body[place + 1 :])
        if any(isinstance(other, (Comparison, Assignment, Aggregation, Negation)) for other in rest):
            continue  # in which order conditions are looked at is nobody's business
        rows: list[Binding] = [{}]
        try:
            for one in in_evaluation_order(rest):
                rows = list(islice((extended for row in rows for extended in extended_by(one, row, facts)), _MOST_ROWS))
        except KeyError:  # the others need the variable that this comparison gives its value
            continue
        names = {variable.name for row in rows[:1] for variable in map(Variable, row)}
        sides = [side for side in (element.left, element.right) if not isinstance(side, Variable) or side.name in names]
        if any(_fails(sides, row) for row in rows):
            return True
    return False


def _is_division(term: Term) -> bool:
    return getattr(term, "operator", None) in ("/", "div", "%")


# -- other names -------------------------------------------------------------------------------------------------------


def short_name(name: str) -> str:
    """`p2` as `p`: with mixed arities, predicates that are told apart by their number of arguments only."""
    return name[0] if len(name) == 2 and name[1].isdigit() else name


def short_fact(fact: Fact) -> Fact:
    return short_name(fact[0]), fact[1]


def short_clause(clause: Clause) -> Clause:
    return replace(clause, heads=tuple(map(_short_atom, clause.heads)), body=short_body(clause.body))


def short_body(body: Sequence[BodyElement]) -> tuple[BodyElement, ...]:
    return tuple(map(_short_element, body))


def _short_atom(atom: Atom) -> Atom:
    return replace(atom, predicate=short_name(atom.predicate))


def _short_element(element: BodyElement) -> BodyElement:
    match element:
        case Atom():
            return _short_atom(element)
        case Negation(element=Atom() as atom):
            return replace(element, element=_short_atom(atom))
        case Aggregation():
            return replace(element, body=short_body(element.body))
        case _:
            return element


def clause_of(text: str, name: str) -> Clause:
    (clause,) = parse_program(f"{name}: {text}").of_type(Clause)
    return replace(clause, span=None)


def block_of(fact: Fact) -> FactBlock:
    predicate, row = fact
    return FactBlock(predicate, len(row), [row])


__all__ = ["Truth", "World", "block_of", "clause_of", "rewrite_atom", "short_body", "short_clause", "short_fact"]
