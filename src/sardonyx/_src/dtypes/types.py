"""The element types: their numbers, widths, names and NumPy counterparts.

Spec: onnx.proto, TensorProto.DataType.
"""

from __future__ import annotations

import enum
from typing import Any, Literal, Self

import numpy as np

from sardonyx._src.arguments import require_integer, require_text, shown
from sardonyx._src.suggestions import did_you_mean

Kind = Literal["float", "signed", "unsigned", "complex", "other"]
NUMBER_FORMATS = tuple("bcdoxXeEfFgGn%")  # last letters of format specifications for numbers, not for strings


class DataType(enum.IntEnum):
    """An element type of ONNX, with its number in model files."""

    #               number, bits, NumPy type or name in ml_dtypes, kind, first IR version
    UNDEFINED = 0, None, None, "other", 1
    FLOAT = 1, 32, np.float32, "float", 1
    UINT8 = 2, 8, np.uint8, "unsigned", 1
    INT8 = 3, 8, np.int8, "signed", 1
    UINT16 = 4, 16, np.uint16, "unsigned", 1
    INT16 = 5, 16, np.int16, "signed", 1
    INT32 = 6, 32, np.int32, "signed", 1
    INT64 = 7, 64, np.int64, "signed", 1
    STRING = 8, None, np.object_, "other", 1
    BOOL = 9, 8, np.bool_, "other", 1
    FLOAT16 = 10, 16, np.float16, "float", 1
    DOUBLE = 11, 64, np.float64, "float", 1
    UINT32 = 12, 32, np.uint32, "unsigned", 1
    UINT64 = 13, 64, np.uint64, "unsigned", 1
    COMPLEX64 = 14, 64, np.complex64, "complex", 1
    COMPLEX128 = 15, 128, np.complex128, "complex", 1
    BFLOAT16 = 16, 16, "bfloat16", "float", 4
    FLOAT8E4M3FN = 17, 8, "float8_e4m3fn", "float", 9
    FLOAT8E4M3FNUZ = 18, 8, "float8_e4m3fnuz", "float", 9
    FLOAT8E5M2 = 19, 8, "float8_e5m2", "float", 9
    FLOAT8E5M2FNUZ = 20, 8, "float8_e5m2fnuz", "float", 9
    UINT4 = 21, 4, "uint4", "unsigned", 10
    INT4 = 22, 4, "int4", "signed", 10
    FLOAT4E2M1 = 23, 4, "float4_e2m1fn", "float", 11
    FLOAT8E8M0 = 24, 8, "float8_e8m0fnu", "float", 12
    UINT2 = 25, 2, "uint2", "unsigned", 13
    INT2 = 26, 2, "int2", "signed", 13
    FLOAT6E2M3 = 27, 6, "float6_e2m3fn", "float", 14
    FLOAT6E3M2 = 28, 6, "float6_e3m2fn", "float", 14

    # Consistent with ==, and faster than Enum's, since element types are keys of many dicts.
    __hash__ = int.__hash__

    text: str
    """The name in ONNX textual syntax, as `float8e4m3fn`; "undefined", which UNDEFINED has, is not in it."""
    is_float: bool
    """A real floating-point type, of any width."""
    is_integer: bool
    """An integer type, of any width; BOOL is none."""
    is_signed: bool
    """Has negative values: signed integers, complex types, all floats but FLOAT8E8M0."""
    is_complex: bool
    """COMPLEX64 or COMPLEX128."""
    ir_version: int
    """The first IR version that has the type."""

    def __new__(
        cls, number: int, bits: int | None, scalar: type[Any] | str | None, kind: Kind, ir_version: int
    ) -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        return member

    def __init__(
        self, number: int, bits: int | None, scalar: type[Any] | str | None, kind: Kind, ir_version: int
    ) -> None:
        self._bits = bits
        self._scalar = scalar
        self._numpy: np.dtype[Any] | None = np.dtype(scalar) if isinstance(scalar, type) else None
        self.text = self._name_.lower()
        self.is_float = kind == "float"
        self.is_integer = kind in ("signed", "unsigned")
        self.is_signed = kind in ("float", "signed", "complex") and self._name_ != "FLOAT8E8M0"
        self.is_complex = kind == "complex"
        self.ir_version = ir_version

    def __str__(self) -> str:
        """The name, as in onnx.proto: "FLOAT"."""
        return self._name_

    def __format__(self, spec: str) -> str:
        """The name; but the number for a format specification of numbers, as in `f"{dtype:d}"`."""
        return format(int(self) if spec[-1:] in NUMBER_FORMATS else self._name_, spec)

    @property
    def bits(self) -> int:
        """Width of one stored element in bits (BOOL: 8); ValueError for STRING and UNDEFINED."""
        if self._bits is None:
            raise ValueError(
                f"{self.name} has no fixed width; only elements of fixed width have a number of bits"
            )
        return self._bits

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype of arrays of this type, in native byte order; ValueError for UNDEFINED.

        ml_dtypes supplies bfloat16 and all floats and integers that NumPy lacks; an element of fewer than 8
        bits occupies a whole byte.  STRING has `object`, for `str`.
        """
        if self._numpy is None:
            if not isinstance(self._scalar, str):
                raise ValueError("UNDEFINED has no NumPy dtype; give the tensor an element type")
            self._numpy = extension_dtype(self._scalar)
            _BY_NUMPY[self._numpy] = self
        return self._numpy

    @classmethod
    def of(cls, dtype: np.dtype[Any] | type[Any]) -> DataType:
        """The element type of arrays of a NumPy or ml_dtypes dtype, in either byte order.

        `object`, `str_` of any length and StringDType are STRING.  TypeError for a dtype that ONNX lacks.
        """
        if dtype is None:
            raise TypeError("dtype must be that of an array; got None, which NumPy would take for float64")
        try:
            numpy = np.dtype(dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"dtype must be that of an array; got {shown(dtype)}: {error}") from None
        if numpy.kind in "UT":
            return cls.STRING
        member = _BY_NUMPY.get(numpy) or _BY_NUMPY.get(numpy.newbyteorder("="))
        member = member or _BY_EXTENSION.get(numpy.name)
        if member is None or (numpy != member.numpy and numpy.newbyteorder("=") != member.numpy):
            raise TypeError(f"ONNX has no element type for dtype {numpy}; cast the array to one that it has")
        return member

    @classmethod
    def from_number(cls, number: int) -> DataType:
        """The element type with a number from a model file; ValueError for an unknown number."""
        require_integer("the number of an element type", number)
        member = _BY_NUMBER.get(number)
        if member is None:
            raise ValueError(
                f"the number of an element type must be from 0 to {max(_BY_NUMBER)}; got {number}"
            )
        return member

    @classmethod
    def parse(cls, text: str) -> DataType:
        """The element type with a name, in textual syntax (`int64`) or as in onnx.proto (`INT64`).

        Raises ValueError, with the nearest names, for any other string.
        """
        require_text("the name of an element type", text)
        member = _BY_NAME.get(text)
        if member is None:
            names = [member.text for member in DataType if member is not DataType.UNDEFINED]
            hint = did_you_mean(text.lower(), names, 3) or f"; the names are {', '.join(names)}"
            raise ValueError(f"no element type is named {text!r}{hint}")
        return member


def extension_dtype(name: str) -> np.dtype[Any]:
    """The dtype of this name in ml_dtypes."""
    import ml_dtypes  # loads slowly, and few models need it

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


_BY_NUMBER = {int(member): member for member in DataType}
_BY_NUMPY = {member._numpy: member for member in DataType if member._numpy is not None}
_BY_EXTENSION = {member._scalar: member for member in DataType if isinstance(member._scalar, str)}
_BY_NAME = {name: member for member in DataType for name in (member.text, member.name)}
