"""SX307 strings-in-raw-data: a tensor of strings has its data in raw_data.

Clause: onnx.proto, TensorProto.raw_data
Catalogue: TEN-07
Why:    raw data are elements of fixed width, which cannot represent strings.
Bad:    tensor {dims: [1], data_type: 8, raw_data: "abc"}
Good:   tensor {dims: [1], data_type: 8, string_data: ["abc"]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import TensorProto


@rule("SX307", visits=TensorProto, suppressed_by="SX305", needs="raw_data", cached_by_fingerprint=True)
def check_strings_in_raw_data(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    if tensor.data_type == DataType.STRING and tensor.has("raw_data") and len(tensor.raw_data):
        yield Finding("raw_data", "the elements are STRING", "write them to string_data")
