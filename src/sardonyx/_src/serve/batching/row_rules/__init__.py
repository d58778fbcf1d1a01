"""Rules of row independence, a module for each family of operators.

An operator without a rule is assumed to mix rows, unless it is elementwise or a reduction (`row_independence.py`).
"""

from sardonyx._src.serve.batching.row_rules import along_axes, classical, layers, movement, products

__all__ = ["along_axes", "classical", "layers", "movement", "products"]
