"""SX629 stored-key-out-of-range: a key of a stored map is no value of the type of its keys.

Clause: onnx-data.proto, MapProto.key_type, keys
Catalogue: DAT-03
Why:    keys of all integer types stand in one field of 64 bits; readers of a narrower type would cut them.
Bad:    map {key_type: 3, keys: [300], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
Good:   map {key_type: 3, keys: [100], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.names import KEY_TYPES
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import MapProto


@rule("SX629", visits=MapProto, unless="SX623 SX624")
def stored_key_out_of_range(stored: MapProto, context: Context) -> Iterator[Finding]:
    """Once for each map; UINT64 takes every pattern of bits."""
    if stored.key_type not in KEY_TYPES - {DataType.STRING, DataType.UINT64} or not len(stored.keys):
        return
    dtype = DataType.numbered(stored.key_type)
    limits = np.iinfo(dtype.numpy)
    keys = np.asarray(stored.keys)
    wrong = (keys < limits.min) | (keys > limits.max)
    if wrong.any():
        i = int(np.argmax(wrong))
        says = f"the key is {keys[i]}; {dtype.name} goes from {limits.min} to {limits.max}"
        yield Finding(f"keys[{i}]", says, "correct the key, or the type of the keys")
