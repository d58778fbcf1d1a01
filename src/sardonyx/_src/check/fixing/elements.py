"""Reading and writing the elements of tensor records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.check.records.tensors import TYPED_DATA_FIELDS, dtype_of, int64_elements, is_external
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.tensors import tensor_from
from sardonyx._src.ir.tensors import Storage
from sardonyx._src.proto.messages import SparseTensorProto, TensorProto


class NoExternalData:
    """An external storage that is never used: only tensors that are not external are read."""

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> Storage:
        raise AssertionError(f"{where} is external: its elements are not available")


def elements_of(tensor: TensorProto) -> Array | None:
    """The elements in the tensor's shape; None if they are external, or do not match dims and type."""
    if is_external(tensor) or dtype_of(tensor) is None:
        return None
    try:
        return tensor_from(tensor, NoExternalData(), [], "").numpy()
    except InvalidModel:
        return None


def put_elements(tensor: TensorProto, array: Array, dtype: DataType) -> None:
    """Replaces the tensor's elements; strings are given as bytes."""
    for field in ("raw_data", *TYPED_DATA_FIELDS):
        tensor.clear(field)
    tensor.dims = list(array.shape)
    tensor.data_type = int(dtype)
    if dtype is DataType.STRING:
        tensor.string_data = [text if isinstance(text, bytes) else str(text).encode() for text in array.flat]
    else:
        tensor.raw_data = dtypes.pack(np.ascontiguousarray(array), dtype)


def sparse_parts(sparse: SparseTensorProto) -> tuple[Array, Array, DataType] | None:
    """Values, indices and element type of a sparse tensor; None if one is missing or they do not match."""
    if sparse.values is None or sparse.indices is None:
        return None
    values, indices, dtype = (
        elements_of(sparse.values),
        int64_elements(sparse.indices),
        dtype_of(sparse.values),
    )
    if values is None or indices is None or dtype is None or values.shape != indices.shape[:1]:
        return None
    return values, indices, dtype
