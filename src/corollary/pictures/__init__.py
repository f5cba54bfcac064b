"""Pictures of a program: the rule graph and the hyper-node graph as SVG, DOT, Mermaid or text."""

from corollary.pictures.change import draw_change
from corollary.pictures.drawing import Form, draw
from corollary.pictures.model import GraphName

__all__ = ["Form", "GraphName", "draw", "draw_change"]
