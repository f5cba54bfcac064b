"""The layout of the arrays of an index.

Loops over facts get plain arrays of numbers, because passing a structure of several arrays costs more than a look-up.
`plan` contains the rules: records of predicates, posts, sides, look-ups, steps, tests and heads, which refer to each
other by offset. `memory` contains facts and entries, as blocks that refer to each other likewise. `scalars` contains
single values.
"""

from __future__ import annotations

NONE = -1

# A predicate: its arity, the length of its facts' blocks, its posts, its look-ups, the start of a chain of free blocks.
F_ARITY, F_WIDTH, F_POSTS, F_POSTS_END, F_LOOKUPS, F_LOOKUPS_END, F_FREE, F_SIZE = range(8)

# A post, the position of an atom. After the arguments of a fact there is a mask for each of its posts.
(
    P_MASK,
    P_SIDES,
    P_SIDES_END,
    P_FULL,
    P_FILTERS,
    P_FILTERS_END,
    P_NEGATED,
    P_POSITION,
    P_STEPS,
    P_STEPS_END,
    P_HEAD,
    P_CHECKED,
    P_SIZE,
) = range(13)

# A side, one direction of a link: the offsets of its numbers in a block and in an entry, the look-ups of its own key there.
(
    S_POST,
    S_PARTNER,
    S_BIT,
    S_AT,
    S_LISTED,
    S_WATCHED,
    S_LOCAL,
    S_MODE,
    S_OPERATOR,
    S_EXTREMES,
    S_PARTNER_NEGATED,
    S_SIZE,
) = range(12)

# A look-up: its number among those of the predicate, the data index, columns of the key, the root of a tree, size of an entry.
G_NUMBER, G_INDEX, G_KEY, G_KEY_END, G_MODE, G_ROOT, G_ENTRY, G_SIZE = range(8)

# A step of an activation: the side that leads there, the positions of both facts in the instance, tests.
T_SIDE, T_FROM, T_TO, T_TESTS, T_TESTS_END, T_SIZE = range(6)

# A test: operator, whether it is negated, left and right as a position in the instance and a column, or NONE and a code.
Q_OPERATOR, Q_NEGATED, Q_LEFT, Q_LEFT_COLUMN, Q_RIGHT, Q_RIGHT_COLUMN, Q_SIZE = range(7)

# A head: the number of its rule, the number of its arguments, each like a side of a test.
H_RULE, H_ARITY, H_ARGUMENTS = range(3)

OPERATORS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5, "==": 6}
LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL, IDENTICAL_CODE = 3, 4, 5, 6
HASHED, BY_ORDER, BY_VALUE = 0, 1, 2

# Numbers of a side in a block: neighbours in its list, the entry where the fact is listed and the one where its partners are.
FOLLOWING, PRECEDING, LISTED, WATCHED, SIDE_CELLS = range(5)
ABSENT = -1  # the mask of a post whose filters a fact does not pass

# Numbers of a side in an entry: first match, first dummy, number of matches. Ordered entries begin with a code and
# their neighbours.
LIVE, WAITING, COUNT, ENTRY_CELLS = range(4)
CODE, NEXT, PREVIOUS, HEADER = range(4)
LOW, HIGH = 0, 1
KINDS = 256  # kinds of constants; each has a lowest and a highest live entry

# Scalars: used space, and counters of work.
USED, KEYS, NODES = range(3)
LOOKUPS, FOLLOWED, MOVED, TUPLES, WASTED, FACTS = range(3, 9)
MOST_LOOKS, HAS_GIVEN_UP = range(9, 11)  # what one activation may visit, and whether one needed more
SCALARS = 16

SLOT_ENTRY, SLOT_WIDTH = 2, 4
FAN_OUT = 32
NODE_LEAF, NODE_COUNT, NODE_KEYS, NODE_CHILDREN = 0, 1, 2, 2 + FAN_OUT
NODE_WIDTH = NODE_CHILDREN + FAN_OUT + 1

OUT_RULE, OUT_SIGN, OUT_HEAD = range(3)
