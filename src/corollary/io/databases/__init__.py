"""Databases: reading, querying and writing tables; one file for each kind of database."""

POSTGRES = ("postgresql://", "postgres://")
"""How the address of a PostgreSQL database starts, which Corollary talks to itself."""
JDBC = "jdbc:"
"""How the address of a database starts that Spark talks to."""
