"""SX325 sparse-tuple-length: the index tuples of a sparse tensor have not one entry for each dimension.

Clause: onnx.proto, SparseTensorProto.indices
Catalogue: SPT-06
Why:    a tuple names one element of the tensor.
Bad:    g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 2] {0, 0}}> () }
Good:   g () => (float[2] y) { y = Constant <sparse_value: sparse_tensor = {dims: [2], values: float[1] {5}, indices: int64[1, 1] {0}}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import SparseTensorProto


@rule("SX325", visits=SparseTensorProto, unless="SX301")
def sparse_tuple_length(sparse: SparseTensorProto, context: Context) -> Iterator[Finding]:
    indices = sparse.indices
    if indices is not None and len(indices.dims) == 2 and indices.dims[1] != len(sparse.dims):
        says = f"the tuples have {indices.dims[1]} entries, the tensor has rank {len(sparse.dims)}"
        yield Finding("indices.dims[1]", says, "store an index for each dimension")
