"""SX343 external-with-inline-data: a tensor that is stored externally also has inline data.

Clause: IR.md, "External Tensor Data"
Catalogue: EXT-05
Why:    readers may use either.
Bad:    file w.bin 8
        g @{initializer: [{name: "y", dims: [2], data_type: 1, raw_data: "abcdefgh", data_location: EXTERNAL,
                           external_data: ["location": "w.bin"]}]} () => (float[2] y) {}
Good:   file w.bin 8
        g () => (float[2] y) <float[2] y = ["location": "w.bin"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import data_fields, is_external
from sardonyx._src.proto.messages import TensorProto


@rule("SX343", visits=TensorProto, needs="data_location")
def check_external_with_inline_data(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    fields = data_fields(tensor)
    if is_external(tensor) and fields:
        message = f"the data are external, but {' and '.join(fields)} also hold data"
        yield Finding("", message, "keep one of the two")
