"""The values that training bindings may refer to (onnx.proto, TrainingInfoProto)."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import cast

from sardonyx._src.check.engine.document import Document, initializers
from sardonyx._src.proto.messages import TensorProto, TrainingInfoProto, ValueInfoProto

BINDINGS = ("initialization_binding", "update_binding")


def state_of(step: TrainingInfoProto, document: Document) -> Mapping[str, TensorProto | None]:
    """The initializers of the step's algorithm and of the inference graph; None for sparse ones."""
    return ChainMap(initializers(step.algorithm), cast("dict[str, TensorProto | None]", document.state))


def bound_values(step: TrainingInfoProto, field: str, document: Document) -> Mapping[str, ValueInfoProto]:
    """The outputs whose values a binding may use; field: the binding's field of the training step."""
    graph = step.initialization if field == "initialization_binding" else step.algorithm
    own = {value.name: value for value in graph.output} if graph is not None else {}
    if field == "initialization_binding":
        return own
    return ChainMap(own, cast("dict[str, ValueInfoProto]", document.outputs))
