"""The examples in the documentation of the API are executed."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "corollary.knowledge_base",
    "corollary.results",
    "corollary.program.python_values",
    "corollary.language.parser",
    "corollary.store.stored",
    "corollary.engines.spark.terms.double_ids",
    "corollary.engines.spark.terms.ids",
    "corollary.engines.spark.terms.forms",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
