"""Changes as people type them: `+edge(1, 2). -edge(2, 3). +rule r8: p(X) :- q(X). -rule r7`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue
from corollary.language import Printer, parse
from corollary.program import Clause, FactBlock, Program
from corollary.transactions import Change, TransactionResult

IS_CHANGE = re.compile(r"\s*[+-]")
_SIGN = re.compile(r"(?:\A|(?<=\.))\s*([+-])\s*(rule\b\s*)?|(?<!\A)(?<=\s)-\s*rule\b\s*")
_ENDED = re.compile(r"(.*\.|.*-\s*rule\s+[\w.]+)\s*", re.DOTALL)


def is_complete(text: str) -> bool:
    """Whether a change that starts like this may end here."""
    return _ENDED.fullmatch(text) is not None


def parse_changes(text: str, prefixes: Mapping[str, str]) -> list[Change]:
    """One change for each sign; all of them are one transaction."""
    signs = list(_SIGN.finditer(text))
    ends = [sign.start() for sign in signs[1:]] + [len(text)]
    return [_change(sign, text[sign.end() : end].strip(), prefixes) for sign, end in zip(signs, ends, strict=True)]


def _change(sign: re.Match[str], text: str, prefixes: Mapping[str, str]) -> Change:
    is_rule = "rule" in sign[0]
    removes = "-" in sign[0]
    if is_rule and removes:
        name = text.removesuffix(".")
        return Change(remove_rules=(name if re.fullmatch(r"[\w.]+", name) else text,))
    parsed = parse(Source(text, "<input>"), prefixes=dict(prefixes))
    if parsed.errors:
        raise ProgramError(parsed.diagnostics)
    kind = Clause if is_rule else FactBlock
    for statement in parsed.program.statements:
        if not isinstance(statement, kind):
            hint = "write '+rule' before a rule and '+' or '-' before a fact"
            raise ProgramError(
                [Diagnostic(catalogue.UNEXPECTED_TOKEN, "this is no " + ("rule" if is_rule else "fact"), None, hint)]
            )
    if is_rule:
        return Change(add_rules=(parsed.program,))
    facts = _rows(parsed.program)
    return Change(delete=facts) if removes else Change(insert=facts)


def _rows(program: Program) -> dict[str, list[tuple[object, ...]]]:
    rows: dict[str, list[tuple[object, ...]]] = {}
    for facts in program.facts:
        rows.setdefault(facts.predicate, []).extend(facts.rows)
    return rows


def difference_lines(result: TransactionResult, prefixes: Mapping[str, str], shown: int = 5) -> list[str]:
    """Return lines that show the inserted and deleted facts, a few of each predicate."""
    printer = Printer(dict(prefixes))
    lines: list[str] = []
    for sign, facts in (("-", result.deleted), ("+", result.inserted)):
        for predicate in facts:
            found = facts[predicate]
            first = found.sorted()[:shown] if len(found) <= 1000 else []
            name = printer.predicate(predicate)
            lines += [f"{sign} {name}({', '.join(map(printer.value, row))})" for row in first]
            if len(found) > len(first):
                lines.append(f"{sign} {name}: {len(found) - len(first):,}{' more' if first else ''} facts")
    return lines or ["nothing visible changes"]
