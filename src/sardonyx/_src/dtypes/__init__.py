"""The element types of ONNX tensors, and how arrays of them are stored in a model."""

from sardonyx._src.dtypes.fields import field_of, from_field, to_field
from sardonyx._src.dtypes.packing import Array, Buffer, element_count, nbytes, pack, unpack
from sardonyx._src.dtypes.strings import string_data, strings
from sardonyx._src.dtypes.types import DataType

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
