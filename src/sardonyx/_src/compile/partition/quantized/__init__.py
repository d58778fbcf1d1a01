"""Nodes of quantized operands, computed in integers."""
