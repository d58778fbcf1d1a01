"""Datatypes of the Open Inference Protocol, and the corresponding element types of ONNX.

Spec: Open Inference Protocol v2, Tensor Data Types; BF16 is in the lists of Triton and KServe.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

ELEMENT_TYPES = {
    "BOOL": DataType.BOOL,
    "UINT8": DataType.UINT8,
    "UINT16": DataType.UINT16,
    "UINT32": DataType.UINT32,
    "UINT64": DataType.UINT64,
    "INT8": DataType.INT8,
    "INT16": DataType.INT16,
    "INT32": DataType.INT32,
    "INT64": DataType.INT64,
    "FP16": DataType.FLOAT16,
    "FP32": DataType.FLOAT,
    "FP64": DataType.DOUBLE,
    "BF16": DataType.BFLOAT16,
    "BYTES": DataType.STRING,
}
DATATYPES = {element_type: name for name, element_type in ELEMENT_TYPES.items()}
DATATYPES_OF_ARRAYS = {element_type.numpy: name for element_type, name in DATATYPES.items()}


def datatype_of(array: Array) -> str:
    """The datatype of an array; its element type must be one of `ELEMENT_TYPES`."""
    return DATATYPES_OF_ARRAYS.get(array.dtype) or DATATYPES[DataType.of(array.dtype)]
