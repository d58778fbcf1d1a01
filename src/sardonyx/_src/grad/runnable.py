"""Models that engines can run: those without Gradient nodes."""

from __future__ import annotations

from sardonyx._src.grad.detection import has_gradient_nodes
from sardonyx._src.ir.model import Model


def without_gradient_nodes(model: Model) -> Model:
    """The model that an engine runs: itself or, if it has Gradient nodes, a copy that computes what they mean."""
    if not has_gradient_nodes(model):
        return model
    from sardonyx._src.grad.gradient_nodes import expand_gradients  # lazy: few models have Gradient nodes

    return expand_gradients(model)
