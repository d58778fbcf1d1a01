"""drop-stray-annotation: drops a quantization annotation of a value that its graph does not have.

Leaves: annotations whose name is similar to that of a value.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import GraphProto, TensorAnnotation


@fix("SX510")
def drop_stray_annotation(violation: Violation) -> str:
    annotation, graph = violation.visited_record(TensorAnnotation), violation.enclosing(GraphProto)
    context = violation.fix_pass.context(violation.record_path)
    if (
        graph is None
        or violation.document.comparisons <= 0
        or context.near(annotation.tensor_name, violation.body.known_names())
    ):
        return ""
    del graph.quantization_annotation[violation.record_path.index]
    return f"dropped the annotation about {annotation.tensor_name!r}"
