"""Which formats there are, and what the names of files say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue, did_you_mean
from corollary.program.arities import SizedName


class Format(StrEnum):
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    JSON = "json"
    NTRIPLES = "nt"
    NQUADS = "nq"
    TURTLE = "ttl"
    DELTA = "delta"

    @property
    def is_rdf(self) -> bool:
        return self in (Format.NTRIPLES, Format.NQUADS, Format.TURTLE)


_ENDINGS = {
    **{str(form): form for form in Format},
    "facts": Format.TSV,
    "pq": Format.PARQUET,
    "jsonl": Format.JSON,
    "ndjson": Format.JSON,
    "turtle": Format.TURTLE,
}
_PLAIN = re.compile(r"\w[\w-]*")


def format_of(path: Path, named: str | None = None, span: Span | None = None) -> Format:
    """The format that the ending of the file's name says, or that was named; raises `ProgramError` where there is none."""
    word = named if named is not None else path.suffix.removeprefix(".")
    if found := _ENDINGS.get(word.lower()):
        return found
    known = ", ".join(_ENDINGS)
    message = f"there is no format '{word}'" if word else f"the name of {path} has no ending that tells its format"
    if named is None and word:
        message = f"{path} is of an unknown format: there is none with the ending '.{word}'"
    hint = did_you_mean(word, _ENDINGS) or f'there are {known}; format = "csv" says which one a file has'
    raise ProgramError([Diagnostic(catalogue.UNKNOWN_FORMAT, message, span, hint)])


def fact_files(directory: Path) -> Iterator[tuple[str, Path]]:
    """The data files of a directory, each with the predicate that its name says, by name; other files are none of ours."""
    for path in sorted(directory.iterdir()):
        if path.suffix.removeprefix(".").lower() in _ENDINGS and not path.name.startswith("."):
            yield unquote(path.stem), path


def file_name(predicate: str, form: Format) -> str:
    """`path.csv`; the name of the predicate is percent-encoded where it is an IRI; `p/2` is in `p_2.csv`."""
    if isinstance(predicate, SizedName):
        predicate = "_".join(predicate.rsplit("/", 1))
    stem = predicate if _PLAIN.fullmatch(predicate) else quote(predicate, safe="")
    return f"{re.sub('^[.]', '%2E', stem)}.{form}"
