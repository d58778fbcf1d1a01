"""Write `src/sardonyx/_src/schema/vendors` from the operator schemas of the onnxruntime wheel: facts, no documentation.

The operators are those of com.microsoft, and those that onnxruntime's optimizer writes into ai.onnx.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema, schemadef

from import_schemas import Json, block, counts, default, dumps

FOLDER = Path("src/sardonyx/_src/schema/vendors")
DOMAIN = "com.microsoft"
INTERNAL_NAMES = (
    "SimplifiedLayerNormalization",
)  # of ai.onnx in models that onnxruntime's optimizer has written
# What onnxruntime 1.32 adds to signatures of the wheel that tests run: inputs after the last one, and attributes.
LATER_INPUTS: dict[str, list[dict[str, Json]]] = {
    "GroupQueryAttention": [{"name": "query_seqlens", "type": "M", "option": "optional"}]
}
LATER_ATTRIBUTES: dict[str, list[dict[str, Json]]] = {
    "GroupQueryAttention": [{"name": f"{side}_norm_epsilon", "type": "FLOAT"} for side in "qk"]
}


def files() -> dict[Path, str]:
    """Path relative to the project's root -> content, for every file that this tool writes."""
    return {
        FOLDER / (schema.domain or "ai.onnx") / f"{schema.name}.json": f"[\n{version_text(schema)}\n]\n"
        for schema in get_all_operator_schema()
        if schema.domain == DOMAIN or (not schema.domain and schema.name in INTERNAL_NAMES)
    }


def version_text(schema: schemadef.OpSchema) -> str:
    """A version's record, with one line for each parameter, attribute and type constraint."""
    head: dict[str, Json] = {"since_version": schema.since_version, "status": "vendor"}
    parts = [dumps(head)[1:-1]]
    inputs = with_later([parameter(p) for p in schema.inputs], LATER_INPUTS.get(schema.name, []))
    attributes = [attribute(given) for given in schema.attributes.values()]
    attributes = with_later(attributes, LATER_ATTRIBUTES.get(schema.name, []))
    for key, records in (
        ("inputs", inputs),
        ("outputs", [parameter(p) for p in schema.outputs]),
        ("attributes", sorted(attributes, key=lambda record: str(record["name"]))),
    ):
        if records:
            parts.append(block(key, "[]", [dumps(record) for record in records]))
    if schema.type_constraints:
        parts.append(block("type_constraints", "{}", list(constraints(schema.type_constraints))))
    parts.append(
        f'"input_counts": {counts(schema.min_input, schema.max_input + len(inputs) - len(schema.inputs))}'
    )
    parts.append(f'"output_counts": {counts(schema.min_output, schema.max_output)}')
    return "  {\n" + ",\n".join(f"    {part}" for part in parts) + "\n  }"


def with_later(records: list[dict[str, Json]], later: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The records, and the later ones that are not among them."""
    names = {record["name"] for record in records}
    return [*records, *(record for record in later if record["name"] not in names)]


def parameter(formal: schemadef.OpSchema.FormalParameter) -> dict[str, Json]:
    record: dict[str, Json] = {"name": formal.name.replace(" ", "_"), "type": formal.typeStr}
    if formal.option.name != "Single":
        record["option"] = formal.option.name.lower()
    if not formal.isHomogeneous:
        record["homogeneous"] = False
    return record


def attribute(given: schemadef.OpSchema.Attribute) -> dict[str, Json]:
    record: dict[str, Json] = {"name": given.name, "type": given.type.name}
    if given.required:
        record["required"] = True
    proto = onnx.AttributeProto.FromString(given._default_value)
    if proto.type:
        record["default"] = default(proto)
    return record


def constraints(records: Iterable[schemadef.OpSchema.TypeConstraintParam]) -> Iterator[str]:
    for record in records:
        yield f"{json.dumps(record.type_param_str)}: {dumps(sorted(record.allowed_type_strs))}"
