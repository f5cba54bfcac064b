"""RDF by predicate: triples as p(s, o), and as C(s) where p is rdf:type, each predicate in a directory of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.output import LocalOutput, Output, StoredOutput
from corollary.engines.spark.ingest.rows import RowKind
from corollary.engines.spark.relations import Frame, id_schema
from corollary.engines.spark.terms.ids import id_of
from corollary.io.vertical import TYPE, has_type_pairs
from corollary.program import Iri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

MOST_PREDICATES = 10_000
"""Predicates and classes of one load: the driver has a data frame for each."""
_ROWS_PER_FILE = 4_000_000


@dataclass(frozen=True)
class _Group:
    """Triples that become the facts of one predicate: those of a property, or of rdf:type with a class."""

    predicate: str
    arity: int
    is_class: bool
    key: int
    rows: int


def frames_of_triples(context: Context, output: Output, arities: Mapping[str, int], source: str) -> dict[str, Frame]:
    """The facts of each predicate; those of one predicate are distinct.

    Instances of something that has no IRI of its own stay pairs of rdf:type; all of them do as well where the program has
    rdf:type as a predicate of two arguments.
    """
    from pyspark.sql import functions as F  # noqa: N812

    triples = output.facts().df
    groups = _groups(context, output, triples, arities, source)
    if not groups:
        return {}
    is_type = F.col("c1") == _type_id(context)
    keyed = triples.select(
        "c0", "c2", is_type.alias("t"), F.when(is_type, F.col("c2")).otherwise(F.col("c1")).alias("k")
    )
    classes = {group.key for group in groups if group.is_class}
    rows = [
        (number, group.is_class, group.key, 1 + group.rows // _ROWS_PER_FILE, group.arity)
        for number, group in enumerate(groups)
        if group.predicate != TYPE
    ]
    numbers = context.spark.createDataFrame(rows, "g int, t boolean, k long, parts int, arity int")
    found = keyed.join(F.broadcast(numbers), ["t", "k"]).select(
        "g", "parts", "c0", F.when(F.col("arity") == 2, F.col("c2")).alias("c1")
    )
    for number, group in enumerate(groups):
        if group.predicate == TYPE:
            pairs = triples.where(is_type)
            if not has_type_pairs(arities) and classes:
                named = context.spark.createDataFrame([(key,) for key in classes], "c2 long")
                pairs = pairs.join(F.broadcast(named), "c2", "left_anti")
            parts = F.lit(1 + group.rows // _ROWS_PER_FILE)
            found = found.union(pairs.select(F.lit(number), parts, "c0", "c2"))
    path = context.workspace.place("triples")
    spread = found.repartition(context.partitions, "g", F.pmod(F.xxhash64("c0"), "parts"))
    spread.select("g", "c0", "c1").write.partitionBy("g").parquet(path)
    read = context.spark.read
    stored = read.schema("c0 long, c1 long, g int").parquet(path)
    counts = {row["g"]: row["count"] for row in stored.groupBy("g").count().collect()}
    return {
        group.predicate: Frame(
            read.schema(id_schema(group.arity)).parquet(f"{path}/g={number}"), group.arity, counts[number]
        )
        for number, group in enumerate(groups)
        if number in counts
    }


def _type_id(context: Context) -> int:
    return id_of(Iri(TYPE), context.universe.collisions)


def _groups(
    context: Context, output: Output, triples: DataFrame, arities: Mapping[str, int], source: str
) -> list[_Group]:
    """One small aggregation tells which predicates and classes there are, and about how many facts they have."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(output, StoredOutput):  # with duplicates, which cost less than looking for them twice
        triples = output.of_kind(RowKind.FACT, triples.columns)

    is_type = F.col("c1") == _type_id(context)
    key = F.when(is_type, F.col("c2")).otherwise(F.col("c1"))
    counted = triples.groupBy(is_type.alias("t"), key.alias("k")).count()
    rows = counted.limit(MOST_PREDICATES + 1).collect()
    if len(rows) > MOST_PREDICATES:
        message = f"{source} has more than {MOST_PREDICATES:,} predicates and classes"
        hint = 'load it as the triples of one predicate: kb.load("t", …)'
        raise ProgramError([Diagnostic(catalogue.BAD_ROW, message, None, hint)])
    names = _names(context, output, [row["k"] for row in rows])
    groups: list[_Group] = []
    pairs = 0
    for row in rows:
        name = names.get(row["k"])
        is_named = name is not None and not name.startswith("_:")
        if not row["t"] and name is not None:
            groups.append(_Group(name, 2, False, row["k"], row["count"]))
        elif is_named and name is not None:
            groups.append(_Group(name, 1, True, row["k"], row["count"]))
        if row["t"] and (not is_named or has_type_pairs(arities)):
            pairs += row["count"]
    if pairs:
        groups.append(_Group(TYPE, 2, False, _type_id(context), pairs))
    return groups


def _names(context: Context, output: Output, ids: list[int]) -> dict[int, str]:
    """The IRIs of ids, from the constants of the load itself; what is no IRI has none."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(output, LocalOutput):
        wanted = set(ids)
        table = output.terms()
        columns = (table.column(name).to_pylist() for name in ("id", "canonical", "datatype"))
        return {one: text for one, text, kind in zip(*columns, strict=True) if one in wanted and kind == "iri"}
    assert isinstance(output, StoredOutput)
    asked = context.spark.createDataFrame([(one,) for one in ids], "id long")
    terms = output.terms().where("datatype = 'iri'").join(F.broadcast(asked), "id", "left_semi")
    return {row["id"]: row["canonical"] for row in terms.select("id", "canonical").distinct().collect()}
