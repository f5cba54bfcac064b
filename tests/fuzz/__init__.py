"""Everything that a knowledge base can do, mixed in one state machine and compared with the oracle after every step.

`make fuzz MINUTES=60 SEED=1` (or `python -m tests.fuzz`) runs one seed after the other. A seed is a script: settings (strategies,
updates, on_error, limits, mode, index, semantics, unsafe, mixed arities, optimisations left out), a generated program, perhaps a
directory, and steps (`steps.py`): transactions, single calls, files, streams of every strategy and source with other steps in
between, queries on demand, other limits, opening again with other settings, old versions, compaction, change files, feeds and
publications that are left and taken up again, Ctrl-C and the end of memory at the n-th check of most of these. With
`--engine spark` (`make fuzz ENGINE=spark`) scripts are shorter, and a directory changes its engine when it is opened again.

After every step (`machine.py`) all visible and undefined facts are those of the oracle, explicit facts are counted as the model
has them, subscribers and the result have the exact difference once, a directory has one version more and opens to the same, and
`verify` finds nothing; feeds and published tables have the facts that there are. What may be refused, and what must be, follows
from the model (`world.py`); a refused operation leaves everything as it was, and the next step is right.

`drawing.py` draws scripts, from the strategies of `tests.generator` and from rules of its own. `script.py` runs and shrinks
them, and writes them as Python. `--without streams,stores` leaves features out, `--ignore version` kinds of differences that are
known, `--keep-going FOLDER` collects differences instead of stopping at the first.
"""
