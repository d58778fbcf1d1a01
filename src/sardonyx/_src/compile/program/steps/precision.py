"""The precision of products: the element type to which the factors of float32 products are rounded."""

from __future__ import annotations

from typing import Literal, TypeAlias

Precision: TypeAlias = Literal["float32", "bf16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bf16")
EXACT: Precision = "float32"  # nothing is rounded
