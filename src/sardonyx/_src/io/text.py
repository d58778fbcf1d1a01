"""Conversion of models to and from ONNX textual syntax and JSON."""

from __future__ import annotations

import re

from sardonyx._src.arguments import require_flag, require_integer, type_name
from sardonyx._src.errors import TextError
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.serde import from_proto, to_proto
from sardonyx._src.ir import Model
from sardonyx._src.proto import json, text
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import without_unknown

MAX_INDENT = 100  # spaces per level of JSON
PATH = re.compile(r"(?i)[^\s<>{}()=]+\.(onnx|onnxtxt|txt|json|pb|sdx)|[A-Za-z]:\\[^\n]*|[./~][^\s(){}]*")


def to_text(model: ModelSource, *, max_elements: int | None = None, drop_unknown: bool = False) -> str:
    """The model in ONNX textual syntax; tensors longer than `max_elements` are truncated, and the text can then not be parsed.

    Unknown fields are written in a form that only Sardonyx reads; `drop_unknown` omits them.
    """
    require_integer("max_elements", max_elements, 0, optional=True)
    return text.to_text(record_of(model, drop_unknown), max_elements=max_elements)


def from_text(source: str) -> Model:
    """The model described by a text in ONNX textual syntax.

    Raises TextError with line and column, InvalidModel, and TypeError for anything but a str.
    """
    require_text(source)
    try:
        record = text.from_text(source, ModelProto)
    except TextError as error:
        if PATH.fullmatch(source) is None:
            raise
        why = f"{error.why}; this looks like a path, which sx.load reads"
        raise TextError(why, line=error.line, column=error.column) from None
    return from_proto.model(record, nowhere())


def require_text(source: object) -> None:
    """Raises TypeError for anything but a str."""
    if not isinstance(source, str):
        cure = "decode it, or pass serialized models and paths to sx.load"
        raise TypeError(f"the text must be a str; got {type_name(source)}: {cure}")


def to_json(model: ModelSource, *, indent: int | None = None, drop_unknown: bool = False) -> str:
    """The model in protobuf's JSON mapping: on one line, or indented by `indent` spaces per level.

    Raises JsonError, with the field's path, for unknown fields, which the mapping cannot represent, unless
    `drop_unknown` omits them, and for strings that are not UTF-8.
    """
    require_integer("indent", indent, 0, MAX_INDENT, optional=True)
    with pause_gc():  # the collector would traverse the records of all nodes, again and again
        return json.to_json(record_of(model, drop_unknown), indent=indent)


def record_of(model: ModelSource, drop_unknown: bool) -> ModelProto:
    """The record of a model, without its unknown fields if they are to be dropped."""
    model = resolve_model(model)
    require_flag("drop_unknown", drop_unknown)
    record = to_proto.model(model)
    return without_unknown(record) if drop_unknown else record


def from_json(source: str) -> Model:
    """The model described by a JSON document in protobuf's mapping.

    Raises JsonError with the path, InvalidModel, and TypeError for anything but a str.
    """
    require_text(source)
    return from_proto.model(json.from_json(source, ModelProto), nowhere())


def nowhere() -> ExternalFiles:
    """The resolver of external data for a model without a file: reading such data raises ExternalDataError."""
    return ExternalFiles(None, Policy.HUB)
