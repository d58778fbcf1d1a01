"""Rules of row independence by family of operators; operators without a rule, and not elementwise, mix rows."""

from sardonyx._src.serve.batching.row_rules import along_axes, classical, layers, movement, products

__all__ = ["along_axes", "classical", "layers", "movement", "products"]
