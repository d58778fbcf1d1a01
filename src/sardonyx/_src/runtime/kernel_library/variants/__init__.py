"""Models whose kernels are the variants that a library has."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants import (
    convolutions,
    data_movement,
    elementwise,
    products,
    resampling,
    rows,
)

__all__ = ["variant_models"]

FAMILIES = {
    "convolutions": convolutions.models,
    "data movement": data_movement.models,
    "elementwise": elementwise.models,
    "products": products.models,
    "rows": rows.models,
    "resampling": resampling.models,
}


def variant_models() -> Iterator[tuple[str, Model]]:
    """The models with their names, in an order that does not change."""
    for family, models in FAMILIES.items():
        for i, model in enumerate(models()):
            yield f"{family} {i}", model
