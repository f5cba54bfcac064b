"""`corollary update`: insert and delete facts and rules in one transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from corollary.cli.options import EngineName
from corollary.cli.output import read_rules, terminal
from corollary.cli.stores import StorePath, open_store, print_result, read_facts
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue
from corollary.language import Permissions, Printer, parse
from corollary.program import Clause, FactBlock, Program
from corollary.settings import Settings
from corollary.transactions import Change, TransactionResult

# -- changes -----------------------------------------------------------------------------------------------------------

# Changes as people type them: `+edge(1, 2). -edge(2, 3). +rule r8: p(X) :- q(X). -rule r7`.

IS_CHANGE = re.compile(r"\s*[+-]")
_SIGN = re.compile(r"(?:\A|(?<=\.))\s*([+-])\s*(rule\b\s*)?|(?<!\A)(?<=\s)-\s*rule\b\s*")
_ENDED = re.compile(r"(.*\.|.*-\s*rule\s+[\w.]+)\s*", re.DOTALL)


def is_complete(text: str) -> bool:
    """Return whether this text is a complete change."""
    return _ENDED.fullmatch(text) is not None


def parse_changes(text: str, prefixes: Mapping[str, str]) -> list[Change]:
    """Return one change for each `+` and `-`; together they are one transaction."""
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
                [Diagnostic(catalogue.UNEXPECTED_TOKEN, "this is not a " + ("rule" if is_rule else "fact"), None, hint)]
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
    """Return lines that show inserted and deleted facts, a few of each predicate."""
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
    return lines or ["no visible fact changes"]


# -- update ------------------------------------------------------------------------------------------------------------


def update(
    path: StorePath,
    insert: Annotated[
        list[Path] | None,
        typer.Option(
            "--insert", metavar="FILE", help="Facts to insert: a program, or a data file such as <predicate>.csv."
        ),
    ] = None,
    delete: Annotated[
        list[Path] | None, typer.Option("--delete", metavar="FILE", help="Facts to delete, in the same form.")
    ] = None,
    add_rules: Annotated[
        list[Path] | None, typer.Option("--add-rules", metavar="FILE", help="A program whose rules are added.")
    ] = None,
    remove_rule: Annotated[
        list[str] | None, typer.Option("--remove-rule", metavar="NAME", help="A rule to remove, by name or by text.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="WORD", help="Allow directives in --add-rules: inputs or outputs."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each hyper-node was maintained, and what it cost.")
    ] = False,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="The engine that applies the change.")
    ] = EngineName.EMBEDDED,
) -> None:
    """Change a knowledge base in a directory, in one transaction, which makes one new version.

    Prints the inserted and deleted facts, including derived ones. If there is an error, nothing changes. Options may be repeated.
    """
    if not (insert or delete or add_rules or remove_rule):
        raise typer.BadParameter("nothing to do: give --insert, --delete, --add-rules or --remove-rule")
    kb = open_store(path, engine=engine.value)
    permissions = _permissions(allow or [])
    change = Change(
        read_facts(kb, insert or []),
        read_facts(kb, delete or []),
        read_rules(add_rules or [], kb.program.prefixes, permissions),
        tuple(remove_rule or ()),
    )
    result = kb.apply(change, allow=allow or [])
    for line in difference_lines(result, kb.program.prefixes):
        terminal().print(line, markup=False)
    if explain:
        terminal().print(f"\n{result.report}", markup=False)
    print_result(kb, result)
    kb.close()


def _permissions(allow: list[str]) -> Permissions:
    try:
        return Permissions.of(Settings.of(allow=allow).allow)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--allow") from None
