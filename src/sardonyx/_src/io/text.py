"""Conversion of models to and from ONNX textual syntax and JSON."""

from __future__ import annotations

from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.serde import from_proto, to_proto
from sardonyx._src.ir.model import Model
from sardonyx._src.proto import json, text
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import without_unknown


def to_text(model: Model, *, max_elements: int | None = None, drop_unknown: bool = False) -> str:
    """The model in ONNX textual syntax; tensors longer than `max_elements` are truncated, and the text can then not be parsed.

    Unknown fields are written in a form that only Sardonyx reads; `drop_unknown` omits them.
    """
    return text.to_text(record_of(model, drop_unknown), max_elements=max_elements)


def from_text(source: str) -> Model:
    """The model described by a text in ONNX textual syntax; raises TextError with line and column, or InvalidModel."""
    return from_proto.model(text.from_text(source, ModelProto), nowhere())


def to_json(model: Model, *, indent: int | None = None, drop_unknown: bool = False) -> str:
    """The model in protobuf's JSON mapping: on one line, or indented by `indent` spaces per level.

    Raises JsonError, with the field's path, for unknown fields, which the mapping cannot represent, unless
    `drop_unknown` omits them, and for strings that are not UTF-8.
    """
    return json.to_json(record_of(model, drop_unknown), indent=indent)


def record_of(model: Model, drop_unknown: bool) -> ModelProto:
    record = to_proto.model(model)
    return without_unknown(record) if drop_unknown else record


def from_json(source: str) -> Model:
    """The model described by a JSON document in protobuf's mapping; raises JsonError with the path, or InvalidModel."""
    return from_proto.model(json.from_json(source, ModelProto), nowhere())


def nowhere() -> ExternalFiles:
    return ExternalFiles(None, Policy.HUB)
