"""plain-codes: replaces nonzero BOOL bytes by 1, and sign-extended bit patterns of floats by unsigned ones.

Leaves: numbers that the element type cannot represent.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.fixing.elements import elements_of, put_elements
from sardonyx._src.check.records.tensors import dtype_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.serde.tensors import unsigned_codes
from sardonyx._src.proto.messages import TensorProto


@fix("SX308")
def unsign_patterns(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    dtype = dtype_of(tensor)
    codes = unsigned_codes(tensor.int32_data, dtype) if dtype is not None else None
    if codes is None:
        return ""
    tensor.int32_data = codes.astype(np.int32)
    return "wrote the bit patterns without sign"


@fix("SX309")
def plain_bools(violation: Violation) -> str:
    tensor = violation.visited_record(TensorProto)
    elements = elements_of(tensor)
    if elements is None:
        return ""
    put_elements(tensor, elements, DataType.BOOL)
    return "wrote 1 for true"
