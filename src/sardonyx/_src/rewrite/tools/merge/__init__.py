"""Two models made into one: outputs of the first feed inputs of the second."""

from sardonyx._src.rewrite.tools.merge.merging import merge

__all__ = ["merge"]
