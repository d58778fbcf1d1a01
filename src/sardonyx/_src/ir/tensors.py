"""Tensors with data: dense ones, with several kinds of storage, and sparse ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field as init_field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.arguments import require_integer, require_type, type_name
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.ir.details import SourceDetails

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]  # the element type is known only at run time


class Storage(Protocol):
    """The stored elements of a tensor."""

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        """The elements, as a view of the stored data where possible."""
        ...


MAX_DECODED_ELEMENTS = 1 << 10  # of a typed field whose array is kept


class ChangeableBuffer:
    """The base class of buffers that others may change, such as a mapped file."""

    def require_unchanged(self) -> None:
        """Raises FileChanged if it has been changed."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RawStorage:
    """Packed little-endian bytes: `raw_data`."""

    data: bytes | memoryview

    def view(self) -> bytes | memoryview:
        """The bytes; raises FileChanged if they are in a mapped file that was changed."""
        if isinstance(self.data, memoryview) and isinstance(self.data.obj, ChangeableBuffer):
            self.data.obj.require_unchanged()
        return self.data

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        return dtypes.unpack(self.view(), dtype, shape)


@dataclass(frozen=True, slots=True)
class FieldStorage:
    """Numbers in one of the typed fields, as `int32_data`.

    decoded: the arrays of few numbers, by element type and shape, since each decoding takes as long as many uses.
    """

    field: str
    values: Sequence[int] | Sequence[float] | NDArray[np.generic]
    decoded: dict[tuple[DataType, tuple[int, ...]], Array] = init_field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        result = self.decoded.get((dtype, shape))
        if result is None:
            result = dtypes.from_field(self.field, self.values, dtype, shape)
            if result.size <= MAX_DECODED_ELEMENTS:
                self.decoded[dtype, shape] = result
        return result.view()


@dataclass(frozen=True, slots=True)
class StringStorage:
    """UTF-8 strings: `string_data`."""

    values: Sequence[bytes]

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        return dtypes.strings(self.values, shape)


@dataclass(frozen=True, slots=True)
class ArrayStorage:
    """A NumPy array, which must not be written to afterwards."""

    values: Array

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        view = self.values.view()
        view.flags.writeable = False
        return view


class Tensor:
    """A dense tensor with data, which is read at first use."""

    __slots__ = ("details", "doc", "dtype", "metadata", "name", "segment", "shape", "storage")

    def __init__(self, dtype: DataType, shape: tuple[int, ...], storage: Storage, name: str = "") -> None:
        self.dtype = dtype
        self.shape = shape
        self.storage = storage
        self.name = name
        self.doc = ""
        self.metadata: dict[str, str] = {}
        self.segment: tuple[int, int] | None = None
        self.details: SourceDetails | None = None

    @classmethod
    def of(cls, values: object, dtype: DataType | None = None, name: str = "") -> Tensor:
        """A tensor of the array-like `values`; Python floats become FLOAT and ints INT64 unless `dtype` is given."""
        require_type("dtype", dtype, (DataType, type(None)), "a DataType or None")
        array = array_of(values)
        if dtype is None and not isinstance(values, np.ndarray | np.generic) and array.dtype == np.float64:
            dtype = DataType.FLOAT
        dtype = dtype or DataType.of(array.dtype)
        array = cast_elements(array, dtype)
        return cls(dtype, array.shape, ArrayStorage(array), name)

    def numpy(self) -> Array:
        """The elements as a read-only array of `dtype.numpy` and `shape`, a view of the stored data if possible.

        Raises InvalidModel for a stored number that is invalid for the element type, ExternalDataError, and
        FileChanged if a mapped file was changed; the array views that file, so that later changes affect it.
        """
        try:
            return self.storage.array(self.dtype, self.shape)
        except ValueError as error:
            raise InvalidModel(str(error), location=f"tensor {self.name!r}") from None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed elements; of a string tensor, the bytes of its strings."""
        if self.dtype is DataType.STRING:
            return sum(len(str(s).encode("utf-8", "surrogateescape")) for s in self.numpy().flat)
        return dtypes.nbytes(self.dtype, self.size)

    def __repr__(self) -> str:
        dims = ",".join(map(str, self.shape))
        return f"Tensor({self.name!r}, {self.dtype.text}[{dims}])"


def array_of(values: object) -> Array:
    """The array-like values as an array; raises TypeError if NumPy cannot convert them."""
    try:
        return np.asarray(values)
    except Exception as error:  # whatever a foreign __array__ raises
        raise TypeError(f"values must be array-like; got {type_name(values)}: {error}") from error


def cast_elements(array: Array, dtype: DataType) -> Array:
    """The array with elements of a type; raises TypeError for elements that have no value of the type."""
    try:
        return array.astype(dtype.numpy, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"values must be elements of type {dtype.text}: {error}") from None


class SparseTensor:
    """A tensor of mostly default values: `values` [nnz] at `indices` [nnz] (linear) or [nnz, rank]."""

    __slots__ = ("details", "indices", "shape", "values")

    def __init__(self, values: Tensor, indices: Tensor, shape: tuple[int, ...]) -> None:
        self.values = values
        self.indices = indices
        self.shape = shape
        self.details: SourceDetails | None = None

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def dtype(self) -> DataType:
        return self.values.dtype

    @property
    def dense_nbytes(self) -> int:
        """The bytes of the dense tensor."""
        return math.prod(self.shape) * self.dtype.numpy.itemsize

    def numpy(self, limit: int = 1 << 32) -> Array:
        """The dense tensor, with zeros or empty strings where nothing is stored.

        Raises LimitError when it would take more than `limit` bytes, InvalidModel for an index outside the
        shape.
        """
        require_integer("limit", limit)
        if self.dense_nbytes > limit:
            what = f"sparse tensor {self.name!r} must take at most {limit} bytes as a dense tensor"
            raise LimitError(what, limit="limit")
        size, dtype = math.prod(self.shape), self.dtype.numpy
        # The system gives the memory of `zeros` only when an element is written, that of `full` at once.
        dense = np.full(size, "", dtype) if self.dtype is DataType.STRING else np.zeros(size, dtype)
        dense[self.linear_indices()] = self.values.numpy()
        return dense.reshape(self.shape)

    def linear_indices(self) -> Array:
        """The linear index of each stored value: int64 [nnz]."""
        indices = self.indices.numpy().astype(np.int64)
        sizes = np.array(self.shape if indices.ndim == 2 else (math.prod(self.shape),), np.int64)
        rows = (
            indices.reshape(len(indices), -1)
            if indices.size
            else np.zeros((len(indices), len(sizes)), np.int64)
        )
        outside = np.flatnonzero(((rows < 0) | (rows >= sizes)).any(axis=1))
        if len(outside):
            which = f"index {rows[outside[0]].tolist()} of stored value {outside[0]}"
            raise InvalidModel(f"{which} lies outside of shape {list(self.shape)}", location=repr(self.name))
        strides = np.concatenate([np.cumprod(sizes[:0:-1], dtype=np.int64)[::-1], [1]])[: len(sizes)]
        return rows @ strides.astype(np.int64)

    def __repr__(self) -> str:
        dims = ",".join(map(str, self.shape))
        return f"SparseTensor({self.name!r}, {self.dtype.text}[{dims}], {self.values.size} stored)"
