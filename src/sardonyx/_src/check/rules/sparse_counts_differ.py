"""SX324 sparse-counts-differ: a sparse tensor has not as many indices as values.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-05 SPT-03
Why:    each stored value has one place.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[2] {0, 1}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX324", visits=SparseTensorProto, unless="SX321 SX323 SX301")
def sparse_counts_differ(sparse: SparseTensorProto, context: Context) -> Iterator[Finding]:
    if sparse.values is None or sparse.indices is None or not sparse.values.dims or not sparse.indices.dims:
        return
    if sparse.indices.dims[0] != sparse.values.dims[0]:
        says = f"{sparse.indices.dims[0]} indices for {sparse.values.dims[0]} values"
        yield Finding("indices.dims", says, "store one index for each value")
