"""Models that engines can run: those without Gradient nodes."""

from __future__ import annotations

from sardonyx._src.grad.detection import has_gradient_nodes
from sardonyx._src.ir import Model


def without_gradient_nodes(model: Model) -> Model:
    """The model itself or, if it has Gradient nodes, a copy with standard operators instead of them."""
    if not has_gradient_nodes(model):
        return model
    from sardonyx._src.grad.gradient_nodes import expand_gradients  # lazy: few models have Gradient nodes

    return expand_gradients(model)
