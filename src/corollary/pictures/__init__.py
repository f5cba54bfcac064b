"""Pictures of a program: its rule graph, its hyper-node graph, a change of these, and the Yield index of a rule."""

from corollary.pictures.change import draw_change
from corollary.pictures.drawing import Form, draw
from corollary.pictures.model import GraphName
from corollary.pictures.yield_index import draw_yield_index

__all__ = ["Form", "GraphName", "draw", "draw_change", "draw_yield_index"]
