"""`without_training`: the inference model of a training model."""

from __future__ import annotations

from sardonyx._src.arguments import require_type
from sardonyx._src.grad.detection import DOMAIN
from sardonyx._src.ir import Model
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import nodes, roots

METADATA_PREFIX = "sardonyx.train."


def without_training(model: Model) -> Model:
    """A copy of a model without training information, metadata of training, and the import that only training needed."""
    require_type("model", model, Model, "a Model")
    result = clone(model)
    for step in result.training:
        for graph in (step.initialization, step.algorithm):
            if graph is not None:
                graph.release()
    result.training = []
    result.metadata = {k: v for k, v in result.metadata.items() if not k.startswith(METADATA_PREFIX)}
    is_used = any(node.domain == DOMAIN for root in roots(result) for node in nodes(root))
    if not is_used:
        result.opset_imports.pop(DOMAIN, None)
    return result
