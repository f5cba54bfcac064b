"""Program analysis: safety, dependencies, hyper-nodes, stratification, modules, and the effect of rule changes on them."""

from corollary.analysis.analysis import Analysis, analyse, analyse_texts, check_safety, checked
from corollary.analysis.constraints import constraint_elements, minimal_elements
from corollary.analysis.modules import Module, ModuleKind, module_name, modules_of
from corollary.analysis.predicates import PredicateInfo, predicates_of
from corollary.analysis.queries import check_evaluable
from corollary.analysis.rule_change import RuleChange, delete_rules, insert_rules
from corollary.analysis.rule_graph import Dependency, HyperNode, RuleGraph
from corollary.analysis.safety import check_query_safety, check_rule_safety, limited_variables
from corollary.analysis.stratification import check_stratification

__all__ = [
    "Analysis",
    "Dependency",
    "HyperNode",
    "Module",
    "ModuleKind",
    "PredicateInfo",
    "RuleChange",
    "RuleGraph",
    "analyse",
    "analyse_texts",
    "check_evaluable",
    "check_query_safety",
    "check_rule_safety",
    "check_safety",
    "check_stratification",
    "checked",
    "constraint_elements",
    "delete_rules",
    "insert_rules",
    "limited_variables",
    "minimal_elements",
    "module_name",
    "modules_of",
    "predicates_of",
]
