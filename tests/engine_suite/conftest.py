"""What every engine has to pass: a test that takes `engine` runs once for each of them."""

from collections.abc import Iterator

import pytest

from tests.engine_suite.engines import Engine

ENGINES = [
    pytest.param("embedded", id="embedded"),
    pytest.param("spark", id="spark", marks=pytest.mark.spark),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with Engine(request.param) as chosen:
        yield chosen
