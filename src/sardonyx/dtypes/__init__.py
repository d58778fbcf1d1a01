"""The element types of ONNX tensors, and how arrays of them are stored in a model."""

from sardonyx.dtypes.fields import field_of, from_field, to_field
from sardonyx.dtypes.packing import Array, Buffer, element_count, nbytes, pack, unpack
from sardonyx.dtypes.strings import string_data, strings
from sardonyx.dtypes.types import DataType

__all__ = [
    "Array",
    "Buffer",
    "DataType",
    "element_count",
    "field_of",
    "from_field",
    "nbytes",
    "pack",
    "string_data",
    "strings",
    "to_field",
    "unpack",
]
