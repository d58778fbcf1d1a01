"""SX118 default-unfit: an initializer does not fit the input whose default it is.

Clause: IR.md, "Graphs", initializer
Catalogue: GRA-19
Why:    left out, the input would have a value that its own type forbids.
Bad:    g (float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
Good:   g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.check.names import element_type
from sardonyx.proto.messages import GraphProto, TensorProto, TypeProto


@rule("SX118", visits=GraphProto, unless="SX103 SX300 SX301 SX134 SX350")
def default_unfit(graph: GraphProto, context: Context) -> Iterator[Finding]:
    inputs = {v.name: v for v in graph.input}
    for i, tensor in enumerate(graph.initializer):
        value = inputs.get(tensor.name)
        if value is not None and (says := misfit(value.type, tensor)):
            yield Finding(f"initializer[{i}]", says, "correct the type of the input, or the initializer")


def misfit(type_: TypeProto | None, tensor: TensorProto) -> str:
    """Why a tensor is no value of the type; "" where it is one, or the type says nothing."""
    if type_ is None or (kind := type_.which("value")) is None:
        return ""
    if type_.tensor_type is None:
        return f"the input is a {kind.removesuffix('_type')}, the initializer a tensor"
    wanted = type_.tensor_type.elem_type
    if wanted and wanted != tensor.data_type:
        return f"the input is {element_type(wanted)}, the initializer {element_type(tensor.data_type)}"
    if type_.tensor_type.shape is None:
        return ""
    dims = type_.tensor_type.shape.dim
    fits = len(dims) == len(tensor.dims) and all(
        not d.has("dim_value") or d.dim_value == n for d, n in zip(dims, tensor.dims, strict=True)
    )
    shown = [d.dim_value if d.has("dim_value") else d.dim_param or "?" for d in dims]
    return "" if fits else f"the input has the shape {shown}, the initializer {list(tensor.dims)}"
