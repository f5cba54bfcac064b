"""The reference evaluator: slow, obvious and right; the oracle that every engine is compared with."""

from corollary.reference.evaluator import Fact, answer, evaluate

__all__ = ["Fact", "answer", "evaluate"]
