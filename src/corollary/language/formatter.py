"""`corollary fmt`: canonical text that keeps the comments, and the blank lines between paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corollary.diagnostics import ProgramError, Source, Span
from corollary.language.lexer import Comment
from corollary.language.parser import parse
from corollary.language.printer import Printer
from corollary.program import Statement


def format_source(source: Source) -> str:
    """Return the formatted text; raise `ProgramError` if the text has mistakes. A comment inside a clause moves above it."""
    parsed = parse(source, join_facts=False)
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    return "".join(line + "\n" for line in _lines(parsed.program.statements, parsed.comments))


def _lines(statements: Sequence[Statement], comments: Sequence[Comment]) -> Iterator[str]:
    printer = Printer()
    waiting = list(comments)
    last_line: int | None = None  # the source line on which the previous piece ended
    for number, statement in enumerate(statements):
        span = statement.span
        assert span is not None
        following = statements[number + 1].span if number + 1 < len(statements) else None
        trailing = _trailing(waiting, span, following)
        while waiting and waiting[0].span.start < span.end:
            comment = waiting.pop(0)
            yield from _blank(last_line, comment.span)
            yield from _indented(comment)
            last_line = _end_line(comment.span)
        yield from _blank(last_line, span)
        *before, final = printer.statement(statement)
        yield from before
        if trailing:
            waiting.remove(trailing)
        yield f"{final}  {trailing.text}" if trailing else final
        last_line = _end_line(trailing.span if trailing else span)
    for comment in waiting:
        yield from _blank(last_line, comment.span)
        yield from _indented(comment)
        last_line = _end_line(comment.span)


def _trailing(waiting: Sequence[Comment], span: Span, following: Span | None) -> Comment | None:
    """Return the comment after a clause on the same line, unless another clause comes in between."""
    for comment in waiting:
        start = comment.span.start
        if start >= span.end:
            alone = following is None or start < following.start
            same_line = comment.span.position.line == _end_line(span)
            return (
                comment
                if alone and same_line and "\n" not in comment.text and not comment.text.startswith("%")
                else None
            )
    return None


def _indented(comment: Comment) -> Iterator[str]:
    # A '#' or '%' comment must start its line, and every line of a block comment keeps its own indent.
    yield from (line.rstrip() for line in comment.text.split("\n"))


def _blank(last_line: int | None, span: Span) -> Iterator[str]:
    if last_line is not None and span.position.line > last_line + 1:
        yield ""


def _end_line(span: Span) -> int:
    return span.source.position(max(span.start, span.end - 1)).line
