"""SX346 external-length-differs: the length of external data is not that of the tensor.

Clause: ExternalData.md, length
Catalogue: EXT-08
Why:    element type and dimensions say how many bytes there are; one of the two is wrong.
Bad:    file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "4"]> {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.external import entry, number
from sardonyx._src.check.names import element_type
from sardonyx._src.check.tensors import bytes_of, is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX346", visits=TensorProto, unless="SX300 SX301 SX349 SX351", needs="external_data")
def external_length_differs(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    if not is_external(tensor):
        return
    wanted, length = bytes_of(tensor), number(entry(tensor, "length"))
    if wanted is not None and length is not None and wanted != length:
        says = f"length is {length}, {element_type(tensor.data_type)}{list(tensor.dims)} takes {wanted} bytes"
        yield Finding("external_data", says, "correct the length, or dims and type")
