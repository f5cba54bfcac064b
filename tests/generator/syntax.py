"""Any program that the parser can give, sensible or not: strategies for syntax trees, and for texts nobody would write.

`syntax_programs()` is made to be printed and parsed back; `texts()` is anything over the signs of the language; `mutated()`
damages the text of a program here and there; `fact_texts()` writes ground facts in odd ways.
"""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from corollary.language import print_program
from corollary.program import (
    AGGREGATES,
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Clause,
    Comparison,
    Constant,
    FactBlock,
    FunctionDeclaration,
    FunctionTerm,
    InputDeclaration,
    Iri,
    ListTerm,
    Literal,
    Minus,
    Negation,
    OutputDeclaration,
    PrefixDeclaration,
    Program,
    Query,
    Statement,
    Structure,
    Term,
    Value,
    Variable,
    Wildcard,
    canonical,
    find_aggregate,
    find_builtin,
    subterms,
)
from corollary.program.arithmetic import ARITHMETIC_OPERATORS, COMPARISON_OPERATORS, is_number
from corollary.program.values import RDF, XSD
from tests.generator.programs import GeneratedProgram

WORDS = (
    *("not", "naf", "count", "in", "true", "false", "and", "div", "mod", "as", "on", "with", "distinct", "nOT", "And"),
    *("comp", "bind", "aggregate", "AGGREGATE", "True", "Distinct", "abs", "med", "prefix", "xsd", "e5"),
    *("é", "Ⅷ", "ǅ"),
)
NAMESPACE = "http://example.org/"

# -- words and values ---------------------------------------------------------------------------------------------------

# A lone surrogate is no character: it cannot come out of a file.
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
odd_text = st.sampled_from(
    ("", ",a", "=,b", "-1", "a b", 'a"b', "a'b", "a\\b", "a\nb", "<>", "_x", "a.", "5", "\u2028", "\x00")
)
iris = st.one_of(
    st.sampled_from(("a", "a-b", "a-", "-a", "5", "é", "a%20", "")).map(NAMESPACE.__add__), odd_text, any_text
)
names = st.one_of(st.sampled_from(("p", "q", "Person")), st.sampled_from(WORDS), iris)
tags = st.from_regex(r"[a-z]{1,3}(-[a-z0-9]{1,3})?", fullmatch=True)
literals = st.one_of(
    st.builds(lambda text, tag: Literal(text, RDF + "langString", tag), any_text, tags),
    st.builds(Literal, any_text, iris.filter(lambda iri: not iri.startswith(XSD))),
    st.sampled_from(
        (Literal("2026-02-28", XSD + "date"), Literal("1.5E0", XSD + "float"), Literal("x", XSD + "other"))
    ),
)
numbers: st.SearchStrategy[Value] = st.one_of(
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda value: canonical(Decimal(value))),
    st.floats(),
)
strings = st.one_of(st.sampled_from(("a", "B", "x y")), st.sampled_from(WORDS), odd_text, any_text)
values: st.SearchStrategy[Value] = st.one_of(numbers, strings, st.booleans(), iris.map(Iri), literals)
variables = st.builds(
    Variable,
    st.one_of(
        st.sampled_from(("X", "Y", "x", "_x", "Not", "_1", "1", "Aggregate")),
        st.sampled_from(WORDS),
        st.from_regex(r"\w{1,3}", fullmatch=True).filter(lambda name: name != "_"),
    ),
)


def _is_symbol(name: str) -> bool:
    return find_builtin(name) is None and find_aggregate(name) is None


def _nested_values(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    items = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(items, st.builds(Structure, names.filter(_is_symbol), items))


ground_values: st.SearchStrategy[Value] = st.recursive(values, _nested_values, max_leaves=4)

# -- terms --------------------------------------------------------------------------------------------------------------

simple_terms: st.SearchStrategy[Term] = st.one_of(variables, values.map(Constant), st.just(Wildcard()))


def _is_foldable(term: Term) -> bool:
    """`-5` is a number, not the negation of one."""
    return isinstance(term, Constant) and is_number(term.value)


def _nested_terms(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    some = st.lists(inner, max_size=3).map(tuple)
    more = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(ARITHMETIC_OPERATORS), inner, inner),
        inner.filter(lambda term: not _is_foldable(term)).map(Minus),
        st.builds(FunctionTerm, names.filter(_is_symbol), some),
        st.builds(FunctionTerm, st.sampled_from(("abs", "floor", "upper")), inner.map(lambda term: (term,))),
        st.builds(lambda left, right: FunctionTerm("count", (left, right)), inner, inner),
        st.builds(ListTerm, some),
        st.builds(ListTerm, more, inner),
    )


terms: st.SearchStrategy[Term] = st.recursive(simple_terms, _nested_terms, max_leaves=5)
functions = st.sampled_from(sorted(AGGREGATES))
head_terms = st.one_of(
    terms.filter(lambda term: not (isinstance(term, FunctionTerm) and find_aggregate(term.name))),
    st.builds(AggregateTerm, functions, terms, st.booleans()),
)

# -- bodies and clauses -------------------------------------------------------------------------------------------------


def _atoms(arguments: st.SearchStrategy[Term]) -> st.SearchStrategy[Atom]:
    return st.builds(Atom, names, st.lists(arguments, max_size=3).map(tuple))


comparisons = st.builds(Comparison, st.sampled_from(COMPARISON_OPERATORS), terms, terms)
plain_elements: st.SearchStrategy[BodyElement] = st.one_of(
    _atoms(terms),
    comparisons,
    st.builds(Negation, st.one_of(_atoms(terms), comparisons)),
    st.builds(Assignment, terms, variables),
)


def _aggregations(inner: st.SearchStrategy[BodyElement]) -> st.SearchStrategy[BodyElement]:
    operations = st.builds(AggregateOperation, functions, terms, variables, st.booleans()).map(lambda one: (one,))
    groups = st.lists(variables, max_size=2).map(tuple)
    return st.builds(Aggregation, st.lists(inner, max_size=2).map(tuple), groups, operations)


elements = st.recursive(plain_elements, _aggregations, max_leaves=3)
bodies = st.lists(elements, max_size=3).map(tuple)
# None of them is a declared prefix, which would make `ex: p(X)` a prefixed name.
rule_names = st.one_of(st.none(), st.sampled_from(("r1", "rule-1", "r1.2", "rdf", "not", "count", "Ⅷ")))


@st.composite
def _clauses(draw: st.DrawFn) -> Clause:
    heads = tuple(draw(st.lists(_atoms(head_terms), min_size=1, max_size=2)))
    body = draw(bodies)
    parts = [part for head in heads for term in head.arguments for part in subterms(term)]
    if not body and not any(isinstance(part, (Variable, Wildcard, AggregateTerm)) for part in parts):
        body = (Atom("p", ()),)  # without a body it would be facts
    return Clause(heads, body, draw(rule_names))


@st.composite
def _facts(draw: st.DrawFn) -> FactBlock:
    arity = draw(st.integers(0, 3))
    row = st.tuples(*[ground_values] * arity)
    return FactBlock(draw(names), arity, draw(st.lists(row, min_size=1, max_size=3)))


# -- directives and programs --------------------------------------------------------------------------------------------

_keys = st.sampled_from(("delimiter", "header", "and", "é", "count"))
# Options are compared as Python compares them: NaN would not even equal itself.
_option_values = ground_values.filter(lambda value: "nan" not in repr(value))
_options = st.lists(st.tuples(_keys, _option_values), max_size=2).map(tuple)
_prefixes = st.sampled_from(("", "ex", "a-b", "é", "not", "xsd", "prefix"))
_namespaces = st.one_of(st.sampled_from((NAMESPACE, XSD, "a", "")), iris)
statements: st.SearchStrategy[Statement] = st.one_of(
    _facts(),
    _clauses(),
    bodies.filter(bool).map(Query),
    st.builds(PrefixDeclaration, _prefixes.filter(lambda prefix: prefix != "not"), _namespaces),
    st.builds(InputDeclaration, names, any_text, _options),
    st.builds(OutputDeclaration, names, st.one_of(st.none(), any_text), _options),
    st.builds(FunctionDeclaration, st.one_of(names, any_text), st.integers(0, 9)),
)


def syntax_programs() -> st.SearchStrategy[GeneratedProgram]:
    """Programs of any statements; most of them make no sense."""
    return st.lists(statements, max_size=4).map(lambda some: GeneratedProgram(Program.of(some).statements))


# -- texts --------------------------------------------------------------------------------------------------------------

FRAGMENTS = (
    *("p", "q", "X", "?x", "_", "_x", "1", "2.5", "1e5", "007", '"a"', "'b'", '"', "'", "a", "true", "é", "²", "٣"),
    *("(", ")", "(", ")", "[", "]", "|", ",", ",", ".", ".", ". ", " ", " ", "\n", "\r", "\t"),
    *(":-", "<-", ":=", "←", "?-"),
    *("<http://example.org/a>", "<", ">", "<>", "<=", ">=", "=", "!=", "≠", "+", "-", "*", "/", " div ", "%", "# "),
    *("not ", "naf", "!", "¬", " and ", "∧", "&", "AGGREGATE(", " ON ", " WITH ", " AS ", "BIND(", "COMP(", "count("),
    *("distinct ", "sum", "abs(", "f(", "_date(", "_iri("),
    *("@prefix ", "@input ", "@output ", "@function ", "@nothing "),
    *("ex:", "ex:a", ":", ":a", "xsd:integer", "^^", "^^xsd:decimal", "@en", "//", "/*", "*/", "\\", "\\u0041", "\x00"),
    *("r1: ", "p(X) :- q(X).", "p(1, 2).", "==", ";", "->", "\ufeff", "\u2028"),
)


def texts() -> st.SearchStrategy[str]:
    """Anything over the alphabet of the language."""
    return st.lists(st.one_of(st.sampled_from(FRAGMENTS), any_text), max_size=30).map("".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of a program, damaged in a few places."""
    text = print_program(draw(syntax_programs()))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 10)))
        middle = draw(st.one_of(st.just(""), st.sampled_from(FRAGMENTS), st.just(text[start:end] * 2)))
        text = text[:start] + middle + text[end:]
    return text


_space = st.sampled_from(("", "", "", " ", "\n", "  \t", "\r\n"))
_written = st.one_of(
    st.sampled_from(
        ("1", "-1", "007", "1.50", "-0", "-0.0", "0.0e0", "-0.0e0", "1E3", "1e400", "- 5", "1+1", "٣", "abs(-1)")
    ),
    st.sampled_from(
        ("a", "aB", "true", "distinct", "not", "and", "count", "X", "_", "é", "'a'", '"a\\n"', "'\\u00e9'", '"\\q"')
    ),
    st.sampled_from(("<a>", "<>", "<,a>", "<=,a>", "<a\\u0020b>", "xsd:a", "ex:a", "no:a", "_'a'", "_date(2026,1,1)")),
    st.sampled_from(('"5.0"^^xsd:decimal', '"05"^^xsd:integer', '"x"^^xsd:integer', '"1"^^xsd:boolean', '"a"@EN-us')),
    st.sampled_from(
        ("[]", "[1, a]", "[1 | [2]]", "[1 | 2]", "f(1)", "f()", "f (1)", "f([g(a), 2])", "count(1)", "true(1)")
    ),
)
_fact_names = st.sampled_from(
    ("p", "p", "Q", "xsd:p", "<p>", "ex:p", "not", "aggregate", "comp", "distinct", "_p", "r1:p")
)
_ends = st.sampled_from((".", ".", ".", " .", ":-.", " :- .", ". // a comment", ". % no comment", "", ".5", " <- ."))


@st.composite
def _fact_text(draw: st.DrawFn) -> str:
    arguments = draw(st.lists(_written, max_size=3))
    padded = ",".join(draw(_space) + argument + draw(_space) for argument in arguments)
    return f"{draw(_space)}{draw(_fact_names)}{draw(st.sampled_from(('(', '(', '(', ' (')))}{padded}){draw(_ends)}"


def fact_texts() -> st.SearchStrategy[str]:
    """Runs of ground facts in every layout, some of them wrong."""
    separators = st.sampled_from(("\n", "\n", " ", "\n@prefix ex: <http://example.org/> .\n"))
    lines = st.tuples(_fact_text(), st.integers(1, 3), separators).map(lambda line: (line[0] + line[2]) * line[1])
    return st.lists(lines, max_size=6).map("".join)
