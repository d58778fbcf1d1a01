"""SX343 external-with-inline-data: a tensor that is stored externally holds data of its own, too.

Clause: IR.md, "External Tensor Data"
Catalogue: EXT-05
Why:    readers may take either.
Bad:    file w.bin 8
        g @{initializer: [{name: "y", dims: [2], data_type: 1, raw_data: "abcdefgh", data_location: EXTERNAL,
                           external_data: ["location": "w.bin"]}]} () => (float[2] y) {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.tensors import data_fields, is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX343", visits=TensorProto, needs="data_location")
def external_with_inline_data(tensor: TensorProto, context: Context) -> Iterator[Finding]:
    fields = data_fields(tensor)
    if is_external(tensor) and fields:
        says = f"the data are external, and {' and '.join(fields)} hold data, too"
        yield Finding("", says, "keep one of the two")
