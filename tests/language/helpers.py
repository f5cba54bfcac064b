"""Short ways to parse pieces of the language in tests."""

from corollary.diagnostics import ProgramError
from corollary.language import parse, parse_program
from corollary.program import BodyElement, Clause, Constant, Program, Statement, Term, Value


def statement(text: str) -> Statement:
    (only,) = parse_program(text).statements
    return only


def clause(text: str) -> Clause:
    found = statement(text)
    assert isinstance(found, Clause)
    return found


def body(text: str) -> tuple[BodyElement, ...]:
    """The body that the text is, in a rule with a head of no arguments."""
    return clause(f"head :- {text}.").body


def element(text: str) -> BodyElement:
    (only,) = body(text)
    return only


def term(text: str) -> Term:
    """The term that the text is, as the argument of an atom in a body."""
    atom = element(f"p({text})")
    (only,) = atom.arguments  # type: ignore[union-attr]
    return only


def value(text: str) -> Value:
    """The value of a constant, read as an argument in a body and, which must agree, in a fact."""
    constant = term(text)
    assert isinstance(constant, Constant)
    (facts,) = parse_program(f"p({text}).").facts
    assert Constant(facts.rows[0][0]) == constant
    return constant.value


def same(one: str, other: str) -> bool:
    """Whether two texts are the same program."""
    return parse_program(one) == parse_program(other)


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in parse(text).diagnostics]


def readable(text: str) -> Program | str:
    """The program, or the codes of what is wrong with it: for tests that only ask whether something can be read."""
    try:
        return parse_program(text)
    except ProgramError as error:
        return " ".join(diagnostic.code for diagnostic in error.diagnostics)
