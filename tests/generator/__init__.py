"""Random programs, facts and scripts of changes for hypothesis: safe, stratified and terminating by construction.

Use::

    from tests.generator import CLINGO, EVERYTHING, Profile, Scenario, apply_change, programs, scenarios

    @given(programs())                              # a `Program` with facts, every rule named r1, r2 ...
    @given(programs(CLINGO))                        # what clingo can take
    @given(programs(Profile(integers_only=True, aggregates=False)))
    @given(scenarios())                             # a `Scenario`: a program and some changes

A `Change` inserts and deletes facts, adds and removes rules (insertion wins); `apply_change(program, change)` is the program
afterwards, and `scenario.programs()` the whole sequence, for the oracle::

    for program in scenario.programs():
        expected = evaluate(program)

Profiles (`profile.py`). EVERYTHING: all features, constants of every datatype. INTEGERS: integers are the only constants.
POSITIVE: no negation, no aggregates. PURE: positive rules over integers, without comparisons and arithmetic. CLINGO: integers,
and the operators and aggregates that clingo has. Any other mix is `EVERYTHING.but(negation=False, max_facts=30)`.

How it works. The predicates and their layers are fixed (`vocabulary.py`): any rule that respects the layers can join or leave
any program. `bodies.py` draws bodies whose variables are limited, `rules.py` the kinds of rules (plain, closures, counters,
computations, both forms of aggregates), `programs.py` and `changes.py` put them together. New values come only from layers
below or from a counter with a bound, so every program terminates. `features.py` names what an example contains, and
`test_generator.py` checks that every feature comes up. `clingo.py` translates for clingo; `syntax.py` generates anything that
parses, sensible or not.

A failure prints the smallest program as text that can be pasted into a file (changes follow as comments). To see it again,
run the same test: hypothesis keeps failing examples in `.hypothesis/`; on another machine, paste the printed
`@reproduce_failure(...)` above the test. `COROLLARY_EXAMPLES=many` looks longer (`tests/budgets.py`).
"""

from tests.generator.changes import Change, Scenario, apply_change, scenarios
from tests.generator.profile import CLINGO, EVERYTHING, INTEGERS, POSITIVE, PURE, Domain, Profile
from tests.generator.programs import Fact, GeneratedProgram, facts_of, program_of, programs

__all__ = [
    "CLINGO",
    "EVERYTHING",
    "INTEGERS",
    "POSITIVE",
    "PURE",
    "Change",
    "Domain",
    "Fact",
    "GeneratedProgram",
    "Profile",
    "Scenario",
    "apply_change",
    "facts_of",
    "program_of",
    "programs",
    "scenarios",
]
