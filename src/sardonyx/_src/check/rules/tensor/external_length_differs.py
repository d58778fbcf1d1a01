"""SX346 external-length-differs: the length of external data differs from the size of the tensor.

Clause: ExternalData.md, length
Catalogue: EXT-08
Why:    element type and dimensions determine the number of bytes; one of the two is wrong.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "4"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.external_data import entry_value, parse_number
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import element_type
from sardonyx._src.check.records.tensors import bytes_of, is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX346", visits=TensorProto, suppressed_by="SX300 SX301 SX349 SX351", needs="external_data")
def check_external_length_differs(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if not is_external(tensor):
        return
    expected, length = bytes_of(tensor), parse_number(entry_value(tensor, "length"))
    if expected is not None and length is not None and expected != length:
        message = (
            f"length must be {expected} for {element_type(tensor.data_type)}{list(tensor.dims)}; got {length}"
        )
        yield Finding("external_data", message, "correct the length, or dims and type")
