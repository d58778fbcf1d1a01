"""drop-stray-annotation: a quantization annotation about a value that its graph does not have is dropped.

Leaves: annotations whose name looks like that of a value.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import GraphProto, TensorAnnotation


@fix("SX510")
def drop_stray_annotation(fault: Fault) -> str:
    one, graph = fault.the(TensorAnnotation), fault.around(GraphProto)
    context = fault.round.context(fault.trail)
    if graph is None or fault.document.comparisons <= 0 or context.near(one.tensor_name, fault.body.names()):
        return ""
    del graph.quantization_annotation[fault.trail.index]
    return f"dropped the annotation about {one.tensor_name!r}"
