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
    for key, records in (
        ("inputs", [parameter(p) for p in schema.inputs]),
        ("outputs", [parameter(p) for p in schema.outputs]),
        ("attributes", [attribute(schema.attributes[name]) for name in sorted(schema.attributes)]),
    ):
        if records:
            parts.append(block(key, "[]", [dumps(record) for record in records]))
    if schema.type_constraints:
        parts.append(block("type_constraints", "{}", list(constraints(schema.type_constraints))))
    parts.append(f'"input_counts": {counts(schema.min_input, schema.max_input)}')
    parts.append(f'"output_counts": {counts(schema.min_output, schema.max_output)}')
    return "  {\n" + ",\n".join(f"    {part}" for part in parts) + "\n  }"


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
