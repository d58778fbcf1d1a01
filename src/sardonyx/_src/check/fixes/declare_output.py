"""declare-output: declares the inferred type of a main graph output without type or shape.

Keeps: existing declarations.  Sizes are declared if they are numbers or expressions of the inputs' variables.
Leaves: inputs, which callers determine, and models whose types contradict each other.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.names import variables_in
from sardonyx._src.errors import SardonyxError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.types import type_to
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.proto.messages import GraphProto, ModelProto


@fix("SX106 SX107")
def declare_output(violation: Violation) -> str:
    model, graph = violation.document.model, violation.visited_record(GraphProto)
    if model is None or not violation.path.startswith("output["):
        return ""
    value = graph.output[int(violation.path.partition("[")[2].partition("]")[0])]
    type_ = types_of(violation, model).get(value.name)
    if type_ is None:
        return ""
    proto = type_to(type_)
    if value.type is None:
        value.type = proto
    elif value.type.tensor_type is not None and proto.tensor_type is not None:
        value.type.tensor_type.shape = proto.tensor_type.shape
    else:
        return ""
    return f"declared {value.name!r} as {type_}"


def types_of(violation: Violation, record: ModelProto) -> dict[str, TensorType]:
    """The main graph outputs that are tensors of known rank, by name; none if the model cannot be loaded."""
    known = violation.fix_pass.outputs
    if known is None:
        known = violation.fix_pass.outputs = {}
        try:
            model = from_proto.model(
                record, ExternalFiles(violation.document.path, violation.document.policy)
            )
            inference = infer_partially(model)
        except SardonyxError:  # the model cannot be loaded, which other rules report
            return known
        inputs = {
            name for value in violation.visited_record(GraphProto).input for name in variables_in(value.type)
        }
        for value in model.graph.outputs if inference else ():
            if isinstance(value.type, TensorType) and value.type.shape is not None:
                shape = tuple(close_dim(dim, inputs) for dim in value.type.shape)
                known[value.name] = replace(value.type, shape=shape)
    return known


def close_dim(dim: Dim, names: set[str]) -> Dim:
    """The size if it depends on these variables only, else None."""
    return None if isinstance(dim, Expr) and not dim.symbols() <= names else dim
