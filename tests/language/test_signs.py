"""What one sign means in different places: `<`, `<-`, `:`, `.`, `!`, `=`."""

import pytest

from corollary.language import parse_program, print_program
from corollary.program import Arithmetic, Atom, Comparison, Constant, FactBlock, Iri, Minus, Negation, Program, Variable
from tests.language.helpers import body, clause, codes, element, same, statement, term, value


def test_angle_brackets_are_an_iri_where_a_term_may_start() -> None:
    assert value("<http://example.org/a>") == Iri("http://example.org/a")
    assert value("<hasNeighbour>") == Iri("hasNeighbour")
    assert value("<>") == Iri("")


def test_angle_brackets_are_an_iri_where_a_predicate_may_start() -> None:
    assert same("<hasNeighbour>(X, Y) :- <hasNeighbour>(Y, X).", "hasNeighbour(X, Y) :- hasNeighbour(Y, X).")
    assert element("not <b>(X)") == Negation(Atom("b", (Variable("X"),)))
    assert element("<a>") == Atom("a", ())


@pytest.mark.parametrize("text", ["X < Y", "X<Y", "X <Y", "X< Y"])
def test_a_less_than_sign_behind_a_term_is_a_comparison(text: str) -> None:
    assert element(text) == Comparison("<", Variable("X"), Variable("Y"))


def test_two_comparisons_side_by_side_are_not_an_iri() -> None:
    assert body("X<Y,A>B") == (
        Comparison("<", Variable("X"), Variable("Y")),
        Comparison(">", Variable("A"), Variable("B")),
    )
    assert body("p(X), 5<X, X>2")[1] == Comparison("<", Constant(5), Variable("X"))
    assert element("X<<a>") == Comparison("<", Variable("X"), Constant(Iri("a")))


@pytest.mark.parametrize("operator", ["<", "<=", "<>", ">", ">=", "=", "!="])
def test_a_comparator_between_commas_is_an_operator(operator: str) -> None:
    written = Comparison("!=" if operator == "<>" else operator, Variable("X"), Variable("Y"))
    assert element(f"COMP(X, {operator}, Y)") == written
    assert element(f"COMP(X,{operator},Y)") == written
    assert body(f"COMP(X,{operator},Y),COMP(A,>,B)") == (written, Comparison(">", Variable("A"), Variable("B")))


def test_a_left_arrow_behind_the_head_is_the_arrow() -> None:
    for arrow in (":-", "<-", "←"):
        assert same(f"p(X) {arrow} q(X).", "p(X) :- q(X).")
        assert same(f"p(X){arrow}q(X).", "p(X) :- q(X).")


def test_a_left_arrow_in_a_body_is_a_comparison_with_a_negative_number() -> None:
    assert element("X <-5") == Comparison("<", Variable("X"), Constant(-5))
    assert element("X<-5") == Comparison("<", Variable("X"), Constant(-5))
    assert same("p(X) <- q(X), X <-5.", "p(X) :- q(X), X < -5.")
    assert statement("?- X <-5.").body == (Comparison("<", Variable("X"), Constant(-5)),)  # type: ignore[union-attr]


def test_an_arrow_of_the_appendices_is_read_with_a_warning() -> None:
    assert codes("p(X) := q(X).") == ["W102"]
    assert same("p(X) := q(X).", "p(X) :- q(X).")


@pytest.mark.parametrize(
    ("sign", "operator"),
    [("=", "="), ("!=", "!="), ("<>", "!="), ("≠", "!="), ("<=", "<="), ("≤", "<="), (">=", ">="), ("≥", ">=")],
)
def test_comparisons_have_these_spellings(sign: str, operator: str) -> None:
    assert element(f"X {sign} Y") == Comparison(operator, Variable("X"), Variable("Y"))


@pytest.mark.parametrize("sign", [",", " and ", " AND ", " And ", "∧", "&", " & "])
def test_conjunctions_have_these_spellings(sign: str) -> None:
    assert body(f"p(X){sign}q(X)") == (Atom("p", (Variable("X"),)), Atom("q", (Variable("X"),)))


@pytest.mark.parametrize("sign", ["not ", "NOT ", "Not ", "naf ", "NAF ", "!", "! ", "¬", "¬ "])
def test_negations_have_these_spellings(sign: str) -> None:
    assert element(f"{sign}p(X)") == Negation(Atom("p", (Variable("X"),)))
    assert element(f"{sign}X = Y") == Negation(Comparison("=", Variable("X"), Variable("Y")))


@pytest.mark.parametrize("text", ["not(p(X))", "not (p(X))", "naf(p(X))", "!(p(X))", "¬(p(X))"])
def test_a_negated_atom_may_stand_in_parentheses(text: str) -> None:
    assert element(text) == Negation(Atom("p", (Variable("X"),)))


def test_an_exclamation_mark_before_an_equals_sign_is_inequality() -> None:
    assert element("X!=Y") == Comparison("!=", Variable("X"), Variable("Y"))
    assert element("!X=Y") == Negation(Comparison("=", Variable("X"), Variable("Y")))


def test_a_name_before_a_colon_names_the_rule() -> None:
    assert clause("r1: p(X) :- q(X).").name == "r1"
    assert clause("r1 : p(X) :- q(X).").name == "r1"
    assert clause("r1:p(X) :- q(X).").name == "r1"
    assert clause("my-rule: p(X) :- q(X).").name == "my-rule"
    assert clause("r1.2: p(X) :- q(X).").name == "r1.2"
    assert clause("R10_new: p(X) :- q(X).").name == "R10_new"


def test_a_declared_prefix_before_a_colon_is_that_prefix() -> None:
    program = parse_program("@prefix r1: <http://r/> . r1:p(X) :- q(X).")
    assert (program.rules[0].name, program.rules[0].head.predicate) == ("r1", "http://r/p")
    assert program.statements[1].name is None  # type: ignore[union-attr]


def test_a_standard_prefix_is_one_only_directly_before_a_name() -> None:
    assert clause("rdf:type(X, Y) :- q(X, Y).").heads[0].predicate.endswith("22-rdf-syntax-ns#type")
    assert clause("rdf: type(X, Y) :- q(X, Y).").name == "rdf"


def test_a_prefix_is_declared_from_its_directive_on() -> None:
    program = parse_program("a:p(X) :- q(X). @prefix a: <http://a/> . a:p(X) :- q(X).")
    assert [rule.head.predicate for rule in program.rules] == ["p", "http://a/p"]
    assert [rule.name for rule in program.rules] == ["a", "r2"]


def test_an_undeclared_prefix_in_a_body_is_an_error() -> None:
    assert codes("p(X) :- ex:q(X).") == ["E111"]
    assert codes("p(ex:a) :- q(X).") == ["E111"]


def test_a_full_stop_behind_a_number_ends_the_clause() -> None:
    assert same("p(X) :- X = 5.", "p(X) :- X = 5 .")
    assert same("p(X) :- X = 5.q(1).", "p(X) :- X = 5 . q(1).")
    assert element("X = 5.0") == Comparison("=", Variable("X"), Constant(5))
    assert same("p(X) :- q(X), X < 5.\nr(1).", "p(X) :- q(X), X < 5 . r(1).")


def test_a_full_stop_may_be_followed_directly_by_the_next_clause() -> None:
    assert same("p(a).q(b).", "p(a). q(b).")
    assert same("p.q.", "p. q.")


def test_minus_binds_tighter_than_times_and_a_negative_number_is_a_number() -> None:
    assert term("-5") == Constant(-5)
    assert term("- 5") == Constant(-5)
    assert term("-X") == Minus(Variable("X"))
    assert term("3 -2") == Arithmetic("-", Constant(3), Constant(2))
    assert term("3 - -2") == Arithmetic("-", Constant(3), Constant(-2))
    assert term("-X * 2") == Arithmetic("*", Minus(Variable("X")), Constant(2))


def test_operators_group_from_the_left_and_by_precedence() -> None:
    assert term("1 - 2 - 3") == term("(1 - 2) - 3")
    assert term("1 + 2 * 3") == term("1 + (2 * 3)")
    assert term("X / 2 / 3") == term("(X / 2) / 3")
    assert term("X div 2 % 3") == term("(X div 2) % 3")
    assert term("1 - (2 - 3)") != term("1 - 2 - 3")
    assert element("X + 1 = Y * 2") == Comparison("=", term("X + 1"), term("Y * 2"))


@pytest.mark.parametrize("text", ["X div 2", "X DIV 2", "X Div 2"])
def test_div_is_a_word_between_operands(text: str) -> None:
    assert term(text) == Arithmetic("div", Variable("X"), Constant(2))


@pytest.mark.parametrize("text", ["X % 2", "X%2", "X mod 2", "X MOD 2"])
def test_modulus_is_a_sign_or_a_word(text: str) -> None:
    assert term(text) == Arithmetic("%", Variable("X"), Constant(2))


@pytest.mark.parametrize("name", ["(a", "=(a", "(", ",a"])
def test_the_printer_escapes_what_would_turn_an_iri_into_a_sign_before_its_arguments(name: str) -> None:
    program = parse_program(print_program(Program((FactBlock(name, 1, [(Iri(name),)]),))))
    assert program.statements == (FactBlock(name, 1, [(Iri(name),)]),)


def test_a_parenthesis_in_the_middle_of_an_iri_is_one_of_its_characters() -> None:
    assert element("<a(b)>(X)") == Atom("a(b)", (Variable("X"),))
