"""SX344 external-number-invalid: offset or length of external data is no number, or negative.

Clause: ExternalData.md, offset, length
Catalogue: EXT-06
Why:    both count bytes, in decimal digits.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "-4"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "0"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import NUMBER_KEYS, number
from sardonyx._src.check.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX344", visits=TensorProto, needs="external_data")
def external_number_invalid(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    if is_external(tensor):
        for i, one in enumerate(tensor.external_data):
            if one.key in NUMBER_KEYS and number(one.value) is None:
                says = f"{one.key} is {brief(one.value)}, wanted a decimal number from 0 to 2^63 - 1"
                yield Finding(f"external_data[{i}].value", says, f"write {one.key} in bytes")
