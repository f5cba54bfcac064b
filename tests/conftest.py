"""Settings of hypothesis; how many examples it makes is the setting of `tests.budgets`.

In CI the examples of a test are always the same, so that a change is judged by what it changes; everywhere else they are new in
every run.
"""

import os
import signal

from hypothesis import Phase, settings

from tests.budgets import examples

is_ci = os.environ.get("CI", "").lower() in ("1", "true")
settings.register_profile(
    "corollary", max_examples=examples(100), deadline=None, derandomize=is_ci, print_blob=not is_ci
)
# A test that fails is all that `tests.mutants` wants to know.
settings.register_profile(
    "mutants",
    settings.get_profile("corollary"),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    database=None,
)
settings.load_profile("corollary")

# A shell starts what runs in the background with Ctrl-C ignored; every process that a test starts and interrupts would be, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
