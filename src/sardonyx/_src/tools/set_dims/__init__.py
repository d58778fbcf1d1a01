"""`set_dims`: set, free and change dims of a model's inputs, and repair constants that hold the old ones."""

from sardonyx._src.tools.set_dims.apply import set_dims

__all__ = ["set_dims"]
