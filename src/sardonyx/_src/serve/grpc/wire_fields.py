"""Protobuf messages as dataclasses: functions that declare a field with its protobuf number and kind.

Spec: protobuf encoding (wire types 0, 1, 2 and 5; packed and unpacked repeated numbers; maps are repeated entries).
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from dataclasses import field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Scalar = Literal["bool", "int32", "int64", "uint32", "uint64", "float", "double", "string", "bytes"]
OneofTable: TypeAlias = "dict[int, Scalar]"
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
FIXED = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}
INFER_PARAMETER: OneofTable = {1: "bool", 2: "int64", 3: "string", 4: "double", 5: "uint64"}
REPOSITORY_PARAMETER: OneofTable = {1: "bool", 2: "int64", 3: "string", 4: "bytes"}


@dataclass(frozen=True, slots=True)
class WireField:
    """A field of a message.

    number: its number in the protocol.
    kind: a scalar or a message class; None for a map from strings to messages that consist of a oneof.
    is_array: whether repeated numbers become a list of arrays, one for each packed field.
    oneof: for a map, the kinds of the fields of its values, by number.
    name: the name of the dataclass field.
    """

    number: int
    kind: Scalar | type | None
    is_repeated: bool = False
    is_array: bool = False
    oneof: OneofTable | None = None
    name: str = ""


def scalar(number: int, kind: Scalar) -> Any:
    """A scalar field with the default of proto3."""
    default: object = {"string": "", "bytes": b"", "bool": False}.get(kind, 0)
    return field(default=default, metadata={"wire": WireField(number, kind)})


def repeated(number: int, kind: Scalar | type) -> Any:
    return field(default_factory=list, metadata={"wire": WireField(number, kind, is_repeated=True)})


def numbers(number: int, kind: Scalar) -> Any:
    """Repeated numbers of a tensor."""
    return field(
        default_factory=list, metadata={"wire": WireField(number, kind, is_repeated=True, is_array=True)}
    )


def optional(number: int, kind: type) -> Any:
    """A field that is a message or None."""
    return field(default=None, metadata={"wire": WireField(number, kind)})


def mapping(number: int, oneof: OneofTable = INFER_PARAMETER) -> Any:
    """A map from strings to values of several types, which become Python objects."""
    return field(default_factory=dict, metadata={"wire": WireField(number, None, oneof=oneof)})


@cache
def wire_fields(message: Hashable) -> dict[int, WireField]:
    """The fields of a message class by number."""
    result = {}
    for f in fields(cast("type[DataclassInstance]", message)):
        wire: WireField = f.metadata["wire"]
        result[wire.number] = replace(wire, name=f.name)
    return result
