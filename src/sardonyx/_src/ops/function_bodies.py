"""Functions made from body facets, to be called by a node or inlined instead of it."""

from __future__ import annotations

from functools import lru_cache

from sardonyx._src.errors import InferenceError, TextError
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Attribute, Function
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import registered_signature
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.text import from_text
from sardonyx._src.schema import exact


def body_of(op: Operator, inference: Inference) -> Function | None:
    """The operator's function for these types and attributes; None without a body facet.

    Raises InferenceError if the facet depends on types that are not known, or an attribute has a number that an element type
    of the body cannot represent.
    """
    body = op.bodies.get(inference.version)
    return (
        parse_body(op.domain, op.name, inference.version, body.opset, body.text(inference)) if body else None
    )


@lru_cache(maxsize=1024)
def parse_body(domain: str, name: str, version: int, opset: int, text: str) -> Function:
    schema = exact(domain, name, version) or registered_signature(domain, name, version)
    assert schema is not None, f"{name}-{version} has a body and no signature"
    attributes = ", ".join(schema.attributes)
    own = f', "{domain}": {version}' if domain else ""
    header = f'<domain: "{domain or "ai.onnx"}", opset_import: ["": {opset}{own}]>'
    try:
        record = from_text(f"{header} {name} {f'<{attributes}>' if attributes else ''} {text}", FunctionProto)
    except TextError as error:  # for a number that its element type cannot represent
        raise InferenceError(f"{name}-{version} has no body for these attributes: {error}") from error
    function = from_proto.function(
        record, ExternalFiles(None, Policy.STRICT), [], f"body of {name}-{version}"
    )
    for declared in schema.attributes.values():
        if declared.default is not None:
            function.attributes[declared.name] = Attribute(
                declared.name, AttributeType[declared.type], declared.default
            )
    return function
