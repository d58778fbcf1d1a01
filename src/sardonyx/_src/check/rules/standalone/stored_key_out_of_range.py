"""SX629 stored-key-out-of-range: a key of a stored map is out of range for the key type.

Clause: onnx-data.proto, MapProto.key_type, keys
Catalogue: DAT-03
Why:    keys of all integer types are stored in one field of 64 bits; readers would truncate keys of a narrower type.
Bad:    map {key_type: 3, keys: [300], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
Good:   map {key_type: 3, keys: [100], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import KEY_TYPES
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import MapProto


@rule("SX629", visits=MapProto, suppressed_by="SX623 SX624")
def check_stored_key_out_of_range(stored: MapProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once per map; every bit pattern is a valid UINT64."""
    if stored.key_type not in KEY_TYPES - {DataType.STRING, DataType.UINT64} or not len(stored.keys):
        return
    dtype = DataType.from_number(stored.key_type)
    limits = np.iinfo(dtype.numpy)
    keys = np.asarray(stored.keys)
    wrong = (keys < limits.min) | (keys > limits.max)
    if wrong.any():
        i = int(np.argmax(wrong))
        message = f"the key must be from {limits.min} to {limits.max} for {dtype.name}; got {keys[i]}"
        yield Finding(f"keys[{i}]", message, "correct the key, or the type of the keys")
