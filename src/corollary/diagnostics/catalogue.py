"""The one list of all errors and warnings.

Codes are stable: they are never renumbered and never reused. E1.. is about the text, E2.. about what a program means,
E3.. about evaluating it, E4.. about data; W.. are warnings that stop nothing. `tests/golden/diagnostics` holds an example
for each code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class DiagnosticKind:
    """A kind of diagnostic: its stable code and what it is about."""

    code: str
    title: str

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.code.startswith("E") else Severity.WARNING


CATALOGUE: dict[str, DiagnosticKind] = {}


def _kind(code: str, title: str) -> DiagnosticKind:
    assert code not in CATALOGUE, f"{code} is taken"
    CATALOGUE[code] = DiagnosticKind(code, title)
    return CATALOGUE[code]


# The text
UNREADABLE_FILE = _kind("E100", "a file cannot be read")
UNEXPECTED_CHARACTER = _kind("E101", "a character that is not part of the language")
UNTERMINATED_STRING = _kind("E102", "a string without its closing quote")
UNTERMINATED_COMMENT = _kind("E103", "a comment without its closing */")
UNEXPECTED_TOKEN = _kind("E104", "a word or symbol that does not fit here")
UNFINISHED_CLAUSE = _kind("E105", "a clause without its full stop")
BAD_ESCAPE = _kind("E106", "an unknown escape in a string or IRI")
TOO_DEEP = _kind("E107", "a term or expression nested too deeply")
TOO_LONG = _kind("E108", "a word or clause that is too long")
UNKNOWN_DIRECTIVE = _kind("E109", "an unknown directive")
MALFORMED_DIRECTIVE = _kind("E110", "a malformed directive")
UNKNOWN_PREFIX = _kind("E111", "a prefix that is not declared")
BAD_LITERAL = _kind("E112", "a literal that its datatype does not allow")
INVALID_UTF8 = _kind("E113", "bytes that are not UTF-8 text")
CONTROL_CHARACTER = _kind("E114", "a control character in the text")
NOT_AN_ATOM = _kind("E115", "a term where an atom or a comparison belongs")
BAD_HEAD = _kind("E116", "something that cannot stand in a rule's head")
BAD_FORM = _kind("E117", "a malformed COMP, BIND or AGGREGATE")
MISPLACED_AGGREGATE = _kind("E118", "an aggregate outside a head or AGGREGATE(...)")
FAILING_ARITHMETIC = _kind("E119", "arithmetic on constants that has no value")

# What the program means
ARITY_MISMATCH = _kind("E201", "a predicate used with two different numbers of arguments")
UNSAFE_VARIABLE = _kind("E202", "an unsafe variable, which nothing in the body binds")
NOT_STRATIFIED = _kind("E203", "a predicate that depends on its own negation or aggregate")
DUPLICATE_RULE_NAME = _kind("E204", "two rules with the same name")
LOCAL_VARIABLE = _kind("E205", "a variable of an AGGREGATE used outside it")
UNKNOWN_RULE = _kind("E206", "a rule name that no rule has")
UNKNOWN_FUNCTION = _kind("E207", "a built-in function with the wrong number of arguments")
UNDEFINED_AGGREGATE = _kind("E208", "an aggregate over facts that may be undefined")
UNDEFINED_FUNCTION = _kind("E209", "an unknown function where a value is needed")
NO_YIELD_INDEX = _kind("E210", "a rule without a Yield index to look at")

# Evaluating it
NOT_EVALUATED = _kind("E301", "a construct that cannot be evaluated")
LIMIT_REACHED = _kind("E302", "a limit was reached")
FAILED_EXPRESSION = _kind("E303", "an expression without a value, if on_error is stop")
TOO_LARGE = _kind("E304", "more facts, constants or derivations than the engine can number")

# Data
BAD_ROW = _kind("E401", "facts that do not fit their predicate")
UNREADABLE_DATA = _kind("E402", "a data file that cannot be read")
UNKNOWN_FORMAT = _kind("E403", "a data file of an unknown format")
BROKEN_DATA = _kind("E404", "a data file that is damaged")
BAD_OPTION = _kind("E405", "an invalid option for a data file")
REJECTED_ROWS = _kind("E406", "rejected rows under --strict")
UNWRITABLE_FILE = _kind("E407", "a file that cannot be written")
UNWRITABLE_FACTS = _kind("E408", "facts that a format cannot hold")
MISSING_PACKAGE = _kind("E409", "a feature that needs a package which is not installed")

# Spark
UNUSABLE_WORKSPACE = _kind("E410", "an unusable directory for Spark's tables and checkpoints")
SPARK_UNAVAILABLE = _kind("E411", "Spark, or a Spark cluster, does not start")
FAILED_STAGE = _kind("E412", "a failed stage on Spark")
BAD_SETTINGS = _kind("E413", "invalid settings")
FORKED_PROCESS = _kind("E414", "a forked process in which a library does not work")
NOT_ALLOWED = _kind("E418", "a rule that arrives at run time and uses what it may not")
OUTSIDE_ROOT = _kind("E419", "a file outside the folder in which a program may read or write")
UNASKABLE_SOURCE = _kind("E416", "an external source without a value that it needs")
FAILED_SOURCE = _kind("E417", "an external source that fails")

# Knowledge bases in a directory
NO_STORE = _kind("E430", "a directory that holds no knowledge base")
PLACE_TAKEN = _kind("E431", "a new knowledge base in a directory that is not empty")
DAMAGED_STORE = _kind("E432", "a file of a knowledge base that is damaged or missing")
STORE_CONFLICT = _kind("E433", "a knowledge base that another process has changed in the meantime")
OTHER_FORMAT = _kind("E434", "a knowledge base in a format that this version cannot read")
UNKNOWN_VERSION = _kind("E435", "a version that a knowledge base does not have")
UNWRITABLE_STORE = _kind("E436", "a knowledge base that cannot be written")
NOT_STORED = _kind("E437", "an operation that needs a knowledge base in a directory, or cannot be done with one")
BAD_CHANGE_FILE = _kind("E438", "a change file that cannot be read or applied")
NOT_PUBLISHED = _kind("E439", "results that cannot be published")

# Streams of updates
MALFORMED_UPDATE = _kind("E450", "an update of a stream that cannot be read")
UNKNOWN_IN_UPDATE = _kind("E451", "an update about a predicate that nothing mentions")
ABSENT_FACT = _kind("E452", "an update that deletes a fact which is not explicit")
UPDATE_TOO_LARGE = _kind("E453", "an update with more facts than the limit")
UNREADABLE_STREAM = _kind("E454", "a stream of updates that cannot be read any further")
NOT_STREAMED = _kind("E455", "a knowledge base that cannot apply a stream")
STREAM_MOVED = _kind("E456", "a stream that cannot resume where it stopped")
MESSAGES_LOST = _kind("E457", "messages that a broker may have lost")
BAD_CHANGE = _kind("E458", "an invalid change in a streaming data frame")
UNFIT_FRAME = _kind("E459", "a streaming data frame with unsuitable columns")
NO_BROKER = _kind("E460", "a message broker that cannot be reached")
OTHER_FEED = _kind("E461", "a change feed that does not belong to the knowledge base")

# Locations
MISPLACED_LOCATION = _kind("E470", "a location mark that does not stand before an argument of an atom")
SECOND_LOCATION = _kind("E471", "an atom with two locations")

# Built-ins and functions of the host program
DEFINED_BUILTIN = _kind("E480", "a fact or a rule for a built-in")
BAD_FUNCTION = _kind("E481", "a user-defined function that cannot be registered")
MISSING_FUNCTION = _kind("E482", "a declared function that is not registered")

# Semantics
TERM_TOO_LARGE = _kind("E490", "a rule that makes a term, number or string that is too large")

# Warnings
EMPTY_PROGRAM = _kind("W101", "an empty program")
ODD_ARROW = _kind("W102", "':=' read as ':-'")
LONG_LINE = _kind("W103", "a line of more than a million characters")
REDEFINED_PREFIX = _kind("W104", "a prefix declared a second time with another IRI")
NAMED_FACT = _kind("W105", "a prefix that is read as the name of a fact")
SINGLE_OCCURRENCE = _kind("W201", "a variable that occurs only once")
UNDEFINED_PREDICATE = _kind("W202", "a predicate that is used but never defined")
SHARED_AGGREGATE = _kind("W203", "several aggregation rules for one predicate")
NEARLY_BUILTIN = _kind("W204", "a function symbol whose name is close to that of a built-in")
UNKNOWN_IN_QUERY = _kind("W205", "a query about an unknown predicate")
REPEATED_RULE = _kind("W206", "a duplicate rule")
CONSTANT_RULE = _kind("W207", "a rule without variables, whose constants look like variables")
VARIABLE_LIKE_CONSTANT = _kind("W208", "a constant that looks like a variable")
NEVER_A_VALUE = _kind("W209", "an expression that never has a value, or a comparison that never holds")
NO_COMMON_ORDER = _kind("W210", "a comparison of values that have no common order")

SILENT_TRAPS = (NEARLY_BUILTIN, CONSTANT_RULE, VARIABLE_LIKE_CONSTANT, NEVER_A_VALUE, NO_COMMON_ORDER)
"""Mistakes that silently make a program derive too little; they are also issued as Python warnings."""
