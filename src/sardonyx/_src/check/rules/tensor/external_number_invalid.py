"""SX344 external-number-invalid: offset or length of external data is not a number, or negative.

Clause: ExternalData.md, offset, length
Catalogue: EXT-06
Why:    both are byte counts in decimal digits.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "-4"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "offset": "0"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import NUMBER_KEYS, parse_number
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX344", visits=TensorProto, needs="external_data")
def check_external_number_invalid(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if is_external(tensor):
        for i, entry in enumerate(tensor.external_data):
            if entry.key in NUMBER_KEYS and parse_number(entry.value) is None:
                message = f"{entry.key} must be a decimal number from 0 to 2^63 - 1; got {brief(entry.value)}"
                yield Finding(f"external_data[{i}].value", message, f"write {entry.key} in bytes")
