"""The oracle of the tests: what a program means, slowly and obviously; every engine is compared with it."""

from tests.oracle.evaluator import Fact, answer, evaluate

__all__ = ["Fact", "answer", "evaluate"]
