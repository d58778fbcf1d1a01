"""`merge`: join two models by feeding outputs of the first into inputs of the second."""

from sardonyx._src.tools.merge.models import merge

__all__ = ["merge"]
