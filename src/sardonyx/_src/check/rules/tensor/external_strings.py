"""SX351 external-strings: a tensor of strings is stored externally.

Clause: ExternalData.md; onnx.proto, TensorProto.raw_data
Catalogue: EXT-13
Why:    external data are raw data, which cannot represent strings.
Bad:    file w.bin 8
        g () => (string[2] y) <string[2] y = ["location": "w.bin"]> {}
Good:   g () => (string[2] y) <string[2] y = {"a", "b"}> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.tensors import is_external
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@rule("SX351", visits=TensorProto, needs="data_location")
def check_external_strings(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if is_external(tensor) and tensor.data_type == DataType.STRING:
        yield Finding("data_location", "the elements are STRING", "store them in string_data")
