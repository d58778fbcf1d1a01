"""Body facets made into functions that can be called or put in a node's place."""

from __future__ import annotations

from functools import lru_cache

from sardonyx._src.io import from_proto
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Function
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.text import from_text
from sardonyx._src.schema import exact


def body_of(op: Operator, inference: Inference) -> Function | None:
    """The operator's function for a call of these types and attributes; None where it has no body.

    Raises InferenceError where the facet needs to know more of the types than it is told.
    """
    body = op.bodies.get(inference.version)
    return parsed(op.domain, op.name, inference.version, body.opset, body.text(inference)) if body else None


@lru_cache(maxsize=1024)
def parsed(domain: str, name: str, version: int, opset: int, text: str) -> Function:
    schema = exact(domain, name, version)
    assert schema is not None, f"{name}-{version} has a body and no signature"
    attributes = ", ".join(schema.attributes)
    own = f', "{domain}": {version}' if domain else ""
    header = f'<domain: "{domain or "ai.onnx"}", opset_import: ["": {opset}{own}]>'
    record = from_text(f"{header} {name} {f'<{attributes}>' if attributes else ''} {text}", FunctionProto)
    function = from_proto.function(
        record, ExternalFiles(None, Policy.STRICT), [], f"body of {name}-{version}"
    )
    for one in schema.attributes.values():
        if one.default is not None:
            function.attributes[one.name] = Attribute(one.name, AttributeType[one.type], one.default)
    return function
