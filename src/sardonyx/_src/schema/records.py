"""Reader of operator records, the JSON files below `data`.

A record omits defaults: `deprecated` false, no inputs, outputs, attributes, type constraints or bodies;
for a parameter `single`, homogeneous, a minimum of one value, unknown differentiability;
for an attribute not required, without default.  `input_counts` and `output_counts` are [minimum, maximum],
with null for no limit.  Each domain has a folder with a file per operator, versions from old to new;
`withdrawn.json`, written by hand, maps names in ai.onnx to such records.

`development` has the same folders for the versions that no release has published; `domains.json` has the opset versions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NotRequired, TypedDict, cast

from sardonyx._src.schema.signature import (
    AttributeSchema,
    AttributeTypeName,
    Default,
    OpSchema,
    Option,
    Parameter,
    Status,
)
from sardonyx._src.schema.vendors import VENDOR_DIR

SCHEMA_DIR = Path(__file__).parent / "data"
DEVELOPMENT_DIR = Path(__file__).parent / "development"

Scalar = int | float | str


class ParameterRecord(TypedDict):
    """An input or output of an operator version; see `Parameter`."""

    name: str
    type: str
    option: NotRequired[Option]
    homogeneous: NotRequired[bool]
    min_arity: NotRequired[int]
    differentiable: NotRequired[bool]


class AttributeRecord(TypedDict):
    """An attribute of an operator version; see `AttributeSchema`."""

    name: str
    type: AttributeTypeName
    required: NotRequired[Literal[True]]
    default: NotRequired[Scalar | list[Scalar]]


class VersionRecord(TypedDict):
    """One version of an operator; see `OpSchema`."""

    since_version: int
    status: Status
    deprecated: NotRequired[Literal[True]]
    inputs: NotRequired[list[ParameterRecord]]
    outputs: NotRequired[list[ParameterRecord]]
    attributes: NotRequired[list[AttributeRecord]]
    type_constraints: NotRequired[dict[str, list[str]]]
    input_counts: tuple[int, int | None]
    output_counts: tuple[int, int | None]
    bodies: NotRequired[list[int]]


def read_operator(domain: str, name: str) -> list[OpSchema]:
    """Every version of an operator that has a file, from old to new, versions under development last.

    `domain` is "" for ai.onnx.
    """
    folders = [
        f for f in (SCHEMA_DIR, DEVELOPMENT_DIR) if (f / (domain or "ai.onnx") / f"{name}.json").is_file()
    ]
    return [version for folder in folders for version in read_versions(folder, domain, name)]


def read_vendor_operator(domain: str, name: str) -> list[OpSchema]:
    """Every version of a vendor's operator, from old to new."""
    return read_versions(VENDOR_DIR, domain, name)


def read_versions(folder: Path, domain: str, name: str) -> list[OpSchema]:
    text = (folder / (domain or "ai.onnx") / f"{name}.json").read_bytes()
    return [_schema(domain, name, record) for record in cast(list[VersionRecord], json.loads(text))]


def read_withdrawn() -> list[OpSchema]:
    """The experiments of the first releases, by name."""
    records = cast(dict[str, VersionRecord], json.loads((SCHEMA_DIR / "withdrawn.json").read_bytes()))
    return [_schema("", name, record) for name, record in records.items()]


def _schema(domain: str, name: str, record: VersionRecord) -> OpSchema:
    min_inputs, max_inputs = record["input_counts"]
    min_outputs, max_outputs = record["output_counts"]
    constraints = record.get("type_constraints", {})
    return OpSchema(
        domain=domain,
        name=name,
        since_version=record["since_version"],
        deprecated=record.get("deprecated", False),
        status=record["status"],
        inputs=_parameters(record.get("inputs", ())),
        outputs=_parameters(record.get("outputs", ())),
        attributes={a["name"]: _attribute(a) for a in record.get("attributes", ())},
        type_constraints={variable: tuple(types) for variable, types in constraints.items()},
        min_inputs=min_inputs,
        max_inputs=max_inputs,
        min_outputs=min_outputs,
        max_outputs=max_outputs,
        bodies=tuple(record.get("bodies", ())),
    )


def _parameters(records: Sequence[ParameterRecord]) -> tuple[Parameter, ...]:
    return tuple(Parameter(**record) for record in records)


def _attribute(record: AttributeRecord) -> AttributeSchema:
    default = _default(record["default"]) if "default" in record else None
    return AttributeSchema(record["name"], record["type"], record.get("required", False), default)


def _default(value: Scalar | list[Scalar]) -> Default:
    if isinstance(value, list):
        # All elements have one type, that of the attribute, which the type of the list does not express.
        return cast(Default, tuple(_default(element) for element in value))
    return value.encode() if isinstance(value, str) else value
