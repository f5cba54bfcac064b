"""The positions of the boxes and edges of a picture, without any knowledge of rules."""

from corollary.pictures.layout.geometry import Curve, Point, Rectangle, Size, straight
from corollary.pictures.layout.layout import Band, Layout, Link, lay_out

__all__ = ["Band", "Curve", "Layout", "Link", "Point", "Rectangle", "Size", "lay_out", "straight"]
