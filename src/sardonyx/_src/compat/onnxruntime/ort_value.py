"""OrtValue: a tensor, sequence, map or sparse tensor that a session reads or returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from sardonyx._src.arguments import items_of, require_integer, require_text, require_type
from sardonyx._src.compat.onnxruntime.exceptions import Fail, InvalidArgument, running_errors
from sardonyx._src.compat.onnxruntime.node_args import tensor_type_name
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.ops.api import RuntimeValue

CPU = "cpu"


class OrtDevice:
    """A device; here always the processor."""

    def __init__(self, name: str = CPU, device_id: int = 0) -> None:
        require_cpu(name)
        require_integer("device_id", device_id)
        self._id = device_id

    @classmethod
    def make(cls, name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        return cls(name, device_id)

    def device_type(self) -> int:
        return 0

    def device_id(self) -> int:
        return self._id

    def device_mem_type(self) -> int:
        return 0

    def device_vendor_id(self) -> int:
        return 0


class OrtValue:
    """A value in the memory of this process.  An OrtValue of an array shares the array's elements."""

    def __init__(self, value: RuntimeValue, onnx_type: int | None = None) -> None:
        self._value, self._onnx_type = value, onnx_type

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Array, /, device_type: str = CPU, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        require_cpu(device_type)
        return cls(np.asarray(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Array, /, onnx_element_type: int) -> OrtValue:
        """A tensor of an element type that NumPy lacks, from an array of integers of its width."""
        require_type("data", data, np.ndarray, "an array")
        dtype = data_type_of(onnx_element_type)
        if data.dtype.itemsize * 8 != dtype.bits:
            raise InvalidArgument.of(
                f"elements of {dtype.text} must have {dtype.bits} bits; got {data.dtype}"
            )
        return cls(data.view(dtype.numpy), onnx_element_type)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: object = np.float32,
        device_type: str = CPU,
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: object = None,
    ) -> OrtValue:
        """A tensor whose elements are zero.  element_type: a NumPy type, or a number of `TensorProto.DataType`."""
        require_cpu(device_type)
        sizes, dtype = sizes_of(shape), data_type_of(element_type).numpy
        try:
            return cls(np.zeros(sizes, dtype))
        except (MemoryError, ValueError) as error:
            raise Fail.of(f"a tensor of shape {list(sizes)} does not fit into memory: {error}") from error

    @classmethod
    def from_dlpack(cls, data: object, /) -> OrtValue:
        if not hasattr(data, "__dlpack__"):
            raise TypeError(f"data must have __dlpack__; got {type(data).__name__}")
        try:
            return cls(np.from_dlpack(data))
        except (BufferError, RuntimeError) as error:
            raise InvalidArgument.of(f"the elements cannot be shared: {error}") from error

    def __dlpack__(self, *, stream: object = None, **options: object) -> object:
        return self._array().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def numpy(self) -> Array:
        """The array of a tensor; not a copy."""
        return self._array()

    @property
    def _ortvalue(self) -> OrtValue:
        """In onnxruntime the native object inside a wrapper, which some programs read; here the object itself."""
        return self

    def value(self) -> RuntimeValue:
        """The value in the form in which a run receives it."""
        return self._value

    def update_inplace(self, data: Array) -> None:
        """Overwrites the elements; the new ones must have the same shape and type."""
        array = self._array()
        if np.shape(data) != array.shape or np.asarray(data).dtype != array.dtype:
            what = f"must be {array.dtype}{list(array.shape)}; got {np.asarray(data).dtype}{list(np.shape(data))}"
            raise InvalidArgument.of(f"the new elements {what}")
        array[...] = data

    def data_ptr(self) -> int:
        return int(self._array().ctypes.data)

    def device_name(self) -> str:
        return CPU

    def shape(self) -> list[int]:
        return list(self._array().shape)

    def element_type(self) -> int:
        """The number of the element type in `TensorProto.DataType`."""
        return int(DataType.of(self._array().dtype))

    def data_type(self) -> str:
        """The type, as `tensor(float)`."""
        return (
            tensor_type_name(DataType.of(self._array().dtype))
            if self.is_tensor()
            else type(self._value).__name__
        )

    def tensor_size_in_bytes(self) -> int:
        return int(self._array().nbytes)

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return not isinstance(self._value, np.ndarray | list | dict) and self._value is not None

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def _array(self) -> Array:
        if not isinstance(self._value, np.ndarray):
            raise Fail.of(f"the value must be a tensor; got {type(self._value).__name__}")
        return self._value


def require_cpu(device: str) -> None:
    """Raises Fail for another device."""
    require_text("device_type", device)
    if device.lower() != CPU:
        raise Fail.of(f"the device must be {CPU!r}; got {device!r}: this engine runs on the processor")


def data_type_of(element_type: object) -> DataType:
    """The element type that a NumPy type or a number of `TensorProto.DataType` names."""
    if element_type is None:
        raise TypeError("element_type must be a type of NumPy or a number; got None")
    with running_errors():
        if isinstance(element_type, int):
            return DataType.from_number(element_type)
        try:
            dtype = np.dtype(cast("type[np.generic]", element_type))
        except (TypeError, ValueError) as error:
            raise TypeError(f"element_type must be a type of NumPy or a number: {error}") from error
        return DataType.of(dtype)


def sizes_of(shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a tensor; raises InvalidArgument for negative ones."""
    sizes = cast("tuple[int, ...]", items_of("shape", shape, (int, np.integer), "integers"))
    if any(size < 0 for size in sizes):
        raise InvalidArgument.of(f"sizes must be at least 0; got {list(sizes)}")
    return tuple(map(int, sizes))
