"""Sizes of a model's inputs fixed, freed and changed, and the constants that hold the old ones repaired."""

from sardonyx._src.rewrite.tools.set_dims.setting import set_dims

__all__ = ["set_dims"]
