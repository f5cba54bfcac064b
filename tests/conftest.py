"""Hypothesis profiles; `COROLLARY_HYPOTHESIS` chooses one of them."""

import os

from hypothesis import settings

settings.register_profile("default", max_examples=100, deadline=None, derandomize=False, print_blob=True)
settings.register_profile("fast", parent=settings.get_profile("default"), max_examples=20)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("COROLLARY_HYPOTHESIS", "default"))
