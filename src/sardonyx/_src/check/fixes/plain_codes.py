"""plain-codes: bytes of BOOL other than 0 become 1, and bit patterns of floats lose a sign that a writer has extended.

Leaves: numbers that the element type lacks.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.elements import elements_of, put_elements
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.tensors import dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.tensors_proto import unsigned_codes
from sardonyx._src.proto.messages import TensorProto


@fix("SX308")
def unsign_patterns(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    dtype = dtype_of(tensor)
    codes = unsigned_codes(tensor.int32_data, dtype) if dtype is not None else None
    if codes is None:
        return ""
    tensor.int32_data = codes.astype(np.int32)
    return "wrote the bit patterns without sign"


@fix("SX309")
def plain_bools(fault: Fault) -> str:
    tensor = fault.the(TensorProto)
    elements = elements_of(tensor)
    if elements is None:
        return ""
    put_elements(tensor, elements, DataType.BOOL)
    return "wrote 1 for true"
