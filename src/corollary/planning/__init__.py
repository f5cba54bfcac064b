"""From rules to plans: normal form, join order, delta rules. Nothing here sees a tuple."""

from corollary.planning.join_order import plan_rule
from corollary.planning.linearise import linearise
from corollary.planning.normal_form import (
    AggregateSource,
    Compare,
    Compute,
    NormalBody,
    NormalRule,
    normalise,
    normalise_query,
    predicates_of_body,
)
from corollary.planning.rule_plan import (
    Absence,
    Access,
    Bound,
    ByValue,
    Column,
    NoStatistics,
    Operation,
    Range,
    RulePlan,
    Statistics,
    Use,
    ValueKey,
    ValueOf,
    Version,
    explain_plan,
)

__all__ = [
    "Absence",
    "Access",
    "AggregateSource",
    "Bound",
    "ByValue",
    "Column",
    "Compare",
    "Compute",
    "NoStatistics",
    "NormalBody",
    "NormalRule",
    "Operation",
    "Range",
    "RulePlan",
    "Statistics",
    "Use",
    "ValueKey",
    "ValueOf",
    "Version",
    "explain_plan",
    "linearise",
    "normalise",
    "normalise_query",
    "plan_rule",
    "predicates_of_body",
]
