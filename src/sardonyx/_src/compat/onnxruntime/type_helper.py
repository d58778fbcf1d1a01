"""TypeHelper: the types of a session's inputs and outputs as those of ONNX, NumPy and PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from sardonyx._src.arguments import require_text
from sardonyx._src.compat.onnxruntime.node_args import NodeArg, tensor_type_name
from sardonyx._src.dtypes import DataType

Converted = TypeVar("Converted")
BY_NAME = {tensor_type_name(dtype): dtype for dtype in DataType if dtype is not DataType.UNDEFINED}


class Described(Protocol):
    """An object that describes its inputs and outputs, such as a session."""

    def get_inputs(self) -> list[NodeArg]: ...

    def get_outputs(self) -> list[NodeArg]: ...


class TypeHelper:
    """Conversions of types such as `tensor(float)`.  Raises ValueError for a name or a type without a counterpart."""

    @staticmethod
    def get_input_type(ort_session: Described, name: str) -> str:
        return type_of(ort_session.get_inputs(), name, "input")

    @staticmethod
    def get_output_type(ort_session: Described, name: str) -> str:
        return type_of(ort_session.get_outputs(), name, "output")

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str) -> int:
        """The number in `TensorProto.DataType`."""
        return int(parse_type(ort_type))

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> type:
        """A type of NumPy; `bool` for booleans."""
        return numpy_type(parse_type(ort_type))

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> object:
        return torch_type(parse_type(ort_type))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: type) -> object:
        return torch_type(DataType.of(numpy_type))

    @staticmethod
    def torch_type_to_numpy_type(torch_type: object) -> type:
        name = str(torch_type).removeprefix("torch.")
        for dtype in BY_NAME.values():
            if dtype.numpy.name == name:
                return numpy_type(dtype)
        raise ValueError(f"the type of NumPy must be that of a type of torch; got {torch_type!r}")

    @staticmethod
    def get_io_onnx_type_map(ort_session: Described) -> dict[str, int]:
        return map_types(ort_session, TypeHelper.ort_type_to_onnx_type)

    @staticmethod
    def get_io_numpy_type_map(ort_session: Described) -> dict[str, type]:
        return map_types(ort_session, TypeHelper.ort_type_to_numpy_type)

    @staticmethod
    def get_io_torch_type_map(ort_session: Described) -> dict[str, object]:
        return map_types(ort_session, TypeHelper.ort_type_to_torch_type)


def type_of(values: list[NodeArg], name: str, kind: str) -> str:
    """The type of the value of this name."""
    for value in values:
        if value.name == name:
            return value.type
    raise ValueError(f"the model has no {kind} {name!r}; it has {[value.name for value in values]}")


def map_types(session: Described, convert: Callable[[str], Converted]) -> dict[str, Converted]:
    """The converted type of each input and output."""
    return {value.name: convert(value.type) for value in (*session.get_inputs(), *session.get_outputs())}


def parse_type(ort_type: str) -> DataType:
    """The element type of a tensor's type."""
    require_text("ort_type", ort_type)
    if ort_type not in BY_NAME:
        raise ValueError(f"the type must be that of a tensor, as 'tensor(float)'; got {ort_type!r}")
    return BY_NAME[ort_type]


def numpy_type(dtype: DataType) -> type:
    """The scalar type of NumPy for these elements; raises ValueError for types that NumPy itself lacks."""
    scalar = dtype.numpy.type
    if scalar is np.object_ or scalar.__module__ != "numpy":
        raise ValueError(f"NumPy has no type of its own for {tensor_type_name(dtype)}")
    return bool if scalar is np.bool_ else scalar


def torch_type(dtype: DataType) -> object:
    """The `torch.dtype`, whose names are those of NumPy and ml_dtypes."""
    torch = sys.modules.get("torch")  # not imported here: a program that uses its types has imported it
    if torch is None:
        raise ValueError("types of torch are known once torch is imported: import it first")
    torch_type = getattr(torch, dtype.numpy.name, None)
    if not isinstance(torch_type, torch.dtype):
        raise ValueError(f"torch has no type for {tensor_type_name(dtype)}")
    return torch_type
