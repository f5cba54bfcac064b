"""From program text to `Program`: the whole front end, which reports all mistakes of the text at once."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue
from corollary.language.build import Mistake, build_clause
from corollary.language.bulk_facts import FactReader
from corollary.language.directives import build_directive, explain_directive
from corollary.language.lexer import MAX_ERRORS, NUL_HINT, Comment, Lexer, Token
from corollary.language.permissions import TRUSTED, Permissions, refusals_of_clause
from corollary.language.plain_rules import RuleReader
from corollary.language.syntax import Node, SyntaxMistake, parse_clause
from corollary.program import FactBlock, PrefixDeclaration, Program, Query, Statement, Value

_LONG_LINE = 1_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")


def goes_on() -> None:
    """Return without stopping anything."""


@dataclass(frozen=True)
class Parsed:
    """The statements of a text as far as they could be read, and the diagnostics.

    `comments` are complete only if facts were not joined: the fast path for facts skips them.
    """

    program: Program
    diagnostics: tuple[Diagnostic, ...]
    comments: tuple[Comment, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if diagnostic.is_error]


def parse_program(text: str | Source) -> Program:
    """Return the program in a text; raise `ProgramError` with all errors in the text.

    >>> parse_program("path(X, Y) :- edge(X, Y).").rules[0].name
    'r1'
    """
    parsed = parse(text)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    return parsed.program


def parse_query(text: str, prefixes: Mapping[str, str] | None = None) -> Query:
    """Return a query as typed by people: `path(1, X)`, with or without `?-` and full stop; `prefixes` are known in it."""
    stripped = text.strip("\ufeff \t\r\n\f\v")
    if not stripped.startswith("?-"):
        stripped = f"?- {stripped}"
    if not stripped.endswith("."):
        stripped += "."
    parsed = parse(Source(stripped, "<query>"), prefixes=prefixes)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    program = parsed.program
    if len(program.statements) != 1 or not program.queries:
        span = program.statements[-1].span if program.statements else None
        raise ProgramError([Diagnostic(catalogue.UNEXPECTED_TOKEN, "this is more than one query", span)])
    return program.queries[0]


def read_source(path: Path | str) -> Source:
    """Return the text of a file; raise `ProgramError` if it does not exist or is not UTF-8."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise ProgramError([Diagnostic(catalogue.UNREADABLE_FILE, message)]) from None
    return decode_source(data, str(path))


def decode_source(data: bytes, name: str) -> Source:
    try:
        return Source(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        readable = Source(data.decode("utf-8-sig", errors="replace"), name)
        before = len(data[: error.start].decode("utf-8-sig", errors="replace"))
        message = f"byte 0x{data[error.start]:02X} is not valid UTF-8"
        span = readable.span(before, before + 1)
        hint = "save the file as UTF-8"
        raise ProgramError([Diagnostic(catalogue.INVALID_UTF8, message, span, hint)]) from None


def parse(
    text: str | Source,
    *,
    join_facts: bool = True,
    prefixes: Mapping[str, str] | None = None,
    permissions: Permissions = TRUSTED,
    tick: Callable[[], None] = goes_on,
) -> Parsed:
    """Read as much of a text as possible. `join_facts=False` keeps one statement per fact, as a formatter needs it.

    `prefixes` are those declared by the program that the text belongs to. `permissions` depend on the origin of the
    text; what they forbid is an error. `tick` is called now and then, and may stop it by raising.
    """
    source = text if isinstance(text, Source) else Source(text)
    with without_garbage_collection():
        return _Parser(source, prefixes or {}, permissions, tick).parse(join_facts)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection inside the block: reading and analysing make many objects without cycles, and with a
    large heap the collector would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Parser:
    def __init__(
        self, source: Source, prefixes: Mapping[str, str], permissions: Permissions, tick: Callable[[], None]
    ) -> None:
        self._source = source
        self._tick = tick
        self._permissions = permissions
        self._lexer = Lexer(source)
        for name, iri in prefixes.items():
            self._lexer.declare_prefix(name, iri)
        self._rules = RuleReader(source, self._lexer.prefixes)
        self._statements: list[Statement] = []
        self._doubted_names: set[Value] = set()

    @cached_property
    def _facts(self) -> FactReader:
        return FactReader(self._source, self._lexer.prefixes, self._tick)

    def parse(self, join_facts: bool) -> Parsed:
        lexer = self._lexer
        while not lexer.at_end() and lexer.error_count < MAX_ERRORS:
            if (rule := self._rules.read(lexer.position)) is not None:
                clause, lexer.position = rule
                self._statements.append(clause)
                self._tick()
                continue
            facts, end = self._facts.run(lexer.position) if join_facts else ([], 0)
            if facts:
                self._statements.extend(facts)
                lexer.position = end
            else:
                self._clause()
            self._tick()
        program = Program.of(self._statements) if join_facts else Program(tuple(self._statements))
        if lexer.error_count >= MAX_ERRORS and not lexer.at_end():
            note = f"these are {MAX_ERRORS} errors: the rest of the text was not read"
            lexer.diagnostics[-1] = replace(lexer.diagnostics[-1], notes=(note,))
        diagnostics = sorted([*lexer.diagnostics, *self._whole_text()], key=lambda d: d.span.start if d.span else 0)
        return Parsed(program, tuple(diagnostics), tuple(lexer.comments))

    def _clause(self) -> None:
        lexer = self._lexer
        tokens = lexer.clause()
        if not tokens:
            return
        try:
            node = _tree(tokens)
            if refusals := list(refusals_of_clause(node, self._permissions)):
                lexer.error_count += len(refusals)
                lexer.diagnostics += refusals
                return
            if node.token.type == "DIRECTIVE":
                for directive in build_directive(node):
                    self._declare(directive)
                    self._statements.append(directive)
            else:
                statements = build_clause(node)
                self._statements.extend(statements)
                if node.kind.startswith("named") and isinstance(statements[0], FactBlock):
                    self._doubt_name(node.token)
        except (SyntaxMistake, Mistake) as mistake:
            lexer.error_count += 1
            lexer.diagnostics.append(mistake.diagnostic)

    def _doubt_name(self, name: Token) -> None:
        """Warn about `ex:p(1).`, a fact of p: without a space after the colon, a prefix was most likely meant."""
        follower = name.span.source.text[name.span.end : name.span.end + 1]
        if not follower.isspace() and name.value not in self._doubted_names:
            self._doubted_names.add(name.value)
            message = f"'{name.value}:' is read as the name of a fact, which has no use for it"
            hint = f"if it is meant as a prefix, declare it: @prefix {name.value}: <http://…> ."
            self._lexer.diagnostics.append(Diagnostic(catalogue.NAMED_FACT, message, name.span, hint))

    def _declare(self, directive: Statement) -> None:
        if not isinstance(directive, PrefixDeclaration):
            return
        name, iri = directive.name, directive.iri
        if name in self._lexer.declared and self._lexer.prefixes[name] != iri:
            message = f"the prefix '{name}:' meant <{self._lexer.prefixes[name]}> until here"
            self._lexer.diagnostics.append(Diagnostic(catalogue.REDEFINED_PREFIX, message, directive.span))
        self._lexer.declare_prefix(name, iri)
        self._facts.forget()

    def _whole_text(self) -> list[Diagnostic]:
        text, source = self._source.text, self._source
        found: list[Diagnostic] = []
        nul = text.find("\0")
        if nul >= 0 and not any(known.kind is catalogue.CONTROL_CHARACTER for known in self._lexer.diagnostics):
            span = source.span(nul, nul + 1)  # in a string or a comment, where the lexer accepts any character
            found.append(Diagnostic(catalogue.CONTROL_CHARACTER, "unexpected control character U+0000", span, NUL_HINT))
        if not text.isascii() and (half := _SURROGATE.search(text)) is not None:
            message = f"U+{ord(half.group()):04X} is half of a pair of surrogates, and no character"
            span = source.span(*half.span())
            found.append(Diagnostic(catalogue.INVALID_UTF8, message, span, "is the text decoded as what it is?"))
        if not self._statements and not self._lexer.error_count:
            found.append(Diagnostic(catalogue.EMPTY_PROGRAM, f"{source.name} contains no clause"))
        if len(text) > _LONG_LINE:
            start = 0
            for line in text.split("\n"):
                if len(line) > _LONG_LINE:
                    message = f"this line has {len(line):,} characters"
                    hint = "one clause per line makes messages readable; large data belongs in a data file"
                    found.append(Diagnostic(catalogue.LONG_LINE, message, source.span(start, start + 1), hint))
                start += len(line) + 1
        return found


def _tree(tokens: list[Token]) -> Node:
    try:
        return parse_clause(tokens)
    except SyntaxMistake as mistake:
        if tokens[0].type == "DIRECTIVE":
            raise explain_directive(tokens[0], mistake.diagnostic) from None
        raise
