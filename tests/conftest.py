"""Hypothesis profiles; `COROLLARY_HYPOTHESIS` chooses one of them.

In CI the examples of a test are always the same, so that a change is judged by what it changes; everywhere else they are new in
every run, and `thorough` is for looking long.
"""

import os
import signal

from hypothesis import settings

is_ci = os.environ.get("CI", "").lower() in ("1", "true")
settings.register_profile("default", max_examples=100, deadline=None, derandomize=is_ci, print_blob=not is_ci)
settings.register_profile("fast", parent=settings.get_profile("default"), max_examples=20)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("COROLLARY_HYPOTHESIS", "default"))

# A shell starts what runs in the background with Ctrl-C ignored; every process that a test starts and interrupts would be, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
