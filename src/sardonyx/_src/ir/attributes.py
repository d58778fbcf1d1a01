"""The types of attributes of nodes (onnx.proto, AttributeProto.AttributeType)."""

from __future__ import annotations

import enum


class AttributeType(enum.IntEnum):
    """The type of an attribute, numbered as `AttributeProto.AttributeType`."""

    UNDEFINED = 0
    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12
    TYPE_PROTO = 13
    TYPE_PROTOS = 14

    @property
    def is_list(self) -> bool:
        return self.name.endswith("S") and self is not AttributeType.UNDEFINED
