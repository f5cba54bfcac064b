"""`corollary init`: create a knowledge base in a directory."""

from __future__ import annotations

from corollary.cli.options import (
    Data,
    Facts,
    FactsHeader,
    InputsRoot,
    LimitFacts,
    LimitTime,
    Programs,
    Rdf,
    RdfBase,
    RejectsFile,
    SetOptions,
    SettingsFile,
    Strict,
    chosen_settings,
    open_knowledge_base,
)
from corollary.cli.output import plural, read_sources, terminal_for_errors
from corollary.cli.run import derive
from corollary.cli.stores import StorePath
from corollary.diagnostics import Diagnostic, ProgramError, catalogue


def init(
    path: StorePath,
    files: Programs,
    facts: Facts = None,
    facts_header: FactsHeader = False,
    rdf: Rdf = None,
    rdf_base: RdfBase = None,
    limit_time: LimitTime = None,
    limit_facts: LimitFacts = None,
    strict: Strict = False,
    rejects: RejectsFile = None,
    settings: SettingsFile = None,
    set_: SetOptions = None,
    inputs_root: InputsRoot = None,
) -> None:
    """Create a knowledge base in a new directory: rules, facts, and everything that follows from them.

    `corollary update PATH` changes it, `corollary query PATH ATOM` queries it, `corollary log PATH` lists its versions.
    Each change is a new version, which is on disk when the command ends.
    """
    from corollary.store.store import Store  # it needs Arrow

    if Store.is_store(path):
        hint = "there is a knowledge base already: `corollary update` changes it, `corollary query` queries it"
        raise ProgramError([Diagnostic(catalogue.PLACE_TAKEN, f"{path} is not empty", None, hint)])
    data = Data(facts, facts_header, rdf or (), strict, rejects, rdf_base=rdf_base)
    chosen = chosen_settings(settings, set_, limit_time=limit_time, limit_facts=limit_facts, inputs_root=inputs_root)
    kb = open_knowledge_base(read_sources(files), data, chosen)
    derive(kb)
    kb.save(path)
    total = sum(kb.count(name) for name in kb.predicates())
    terminal_for_errors().print(f"version 1: {plural(total, 'fact')}", markup=False)
