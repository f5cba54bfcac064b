"""The fast path for ground facts reads exactly what the parser reads."""

from hypothesis import example, given
from hypothesis import strategies as st

from corollary.language import parse
from corollary.program import FactBlock, Program

CONSTANTS = st.sampled_from(
    [
        *(
            "0",
            "1",
            "-1",
            "- 1",
            "+1",
            "007",
            "123456789012345678901234567890",
            "1.0",
            "1.50",
            "-0.0",
            "1e3",
            "2.5E-1",
            "1.",
        ),
        *(
            "abc",
            "aB_1",
            "true",
            "false",
            "True",
            "X",
            "?x",
            "_",
            "_x",
            "not",
            "naf",
            "distinct",
            "and",
            "div",
            "größe",
        ),
        *(
            '"a b"',
            "'a b'",
            '""',
            r'"a\"b"',
            r'"\q"',
            '"a',
            '"a"@en',
            '"a"@EN-gb',
            '"7"^^xsd:int',
            '"x"^^xsd:int',
            '"5"^^<m>',
        ),
        *("<http://e/a>", "<a b>", "<>", r"<\u0041>", "ex:a", "ex:", ":a", "rdf:type", "no:a", "e:a.b", "xsd:date"),
        *(
            "_date(2026, 1, 1)",
            "_date(1)",
            "f(1)",
            "f(g(a), [1, 2])",
            "f(X)",
            "abs(-3)",
            "abs(1, 2)",
            "count(1)",
            "[1, 2]",
            "[]",
        ),
        *(
            "[1 | [2]]",
            "[X]",
            "1 + 2",
            "1 / 0",
            "(1)",
            "a b",
            "",
            "f(1]",
            "[1)",
            "1 // c",
            "/* c */ 1",
            "1 % 2",
            "²",
            "٣",
        ),
    ]
)
PREDICATES = st.sampled_from(
    [
        "p",
        "q",
        "P",
        "<p>",
        "<a b>",
        "<http://e/p>",
        "ex:p",
        "no:p",
        "r1: p",
        "not",
        "<not>",
        "true",
        "count",
        "comp",
        "p ",
        "aggregate",
    ]
)
ENDS = st.sampled_from(
    [".", " .", " :- .", ":-.", " <- .", ".\n", ". // c\n", ".5", "..", "", " :- q(1).", " % c\n.", ".\n% c\n"]
)


@st.composite
def facts(draw: st.DrawFn) -> str:
    separator = draw(st.sampled_from([",", ", ", " ,", ",\n", ",,"]))
    arguments = separator.join(draw(st.lists(CONSTANTS, max_size=3)))
    opening = draw(st.sampled_from(["(", "(", "( "]))
    return draw(PREDICATES) + opening + arguments + draw(st.sampled_from([")", ")", " )", ""])) + draw(ENDS)


def by_parser_alone(text: str) -> tuple[Program, list[tuple[str, object]]]:
    parsed = parse(text, join_facts=False)
    return Program.of(parsed.program.statements), [(d.code, d.span and d.span.position) for d in parsed.diagnostics]


@given(st.lists(facts(), min_size=1, max_size=4), st.booleans())
@example(["p(1).", "p(2", "p(3)."], False)
@example(["p(1, 2).", "p(3).", "p(4)."], False)
def test_both_ways_give_the_same_program_and_the_same_mistakes(clauses: list[str], with_prefix: bool) -> None:
    text = ("@prefix ex: <http://e/> .\n" if with_prefix else "") + " ".join(clauses)
    parsed = parse(text)
    program, mistakes = by_parser_alone(text)
    assert parsed.program == program
    assert [(d.code, d.span and d.span.position) for d in parsed.diagnostics] == mistakes


def test_a_run_of_facts_is_one_statement_of_plain_rows() -> None:
    (only,) = parse("edge(1, 2). edge(3, 4).\nedge( -5 ,6 ) .").program.statements
    assert isinstance(only, FactBlock)
    assert list(only.rows) == [(1, 2), (3, 4), (-5, 6)]


def test_a_run_ends_where_the_number_of_arguments_changes() -> None:
    program = parse("p(1). p(2). p(3, 4). p(5).").program
    assert [facts.arity for facts in program.facts] == [1, 2, 1]


def test_a_prefix_declared_later_changes_what_names_mean_from_there_on() -> None:
    text = "@prefix e: <http://a/> . p(e:x). @prefix e: <http://b/> . p(e:x)."
    values = [str(row[0]) for facts in parse(text).program.facts for row in facts.rows]
    assert values == ["http://a/x", "http://b/x"]


def test_a_mistake_among_many_facts_is_found_at_its_place() -> None:
    lines = [f"edge({i}, {i + 1})." for i in range(1000)]
    lines[700] = "edge(700 701)."
    (found,) = parse("\n".join(lines)).diagnostics
    assert (found.code, found.span and found.span.position.line) == ("E104", 701)
    assert sum(len(facts.rows) for facts in parse("\n".join(lines)).program.facts) == 999
