"""Incremental maintenance: the algorithms, written once over what an engine offers (`engines.base`)."""
