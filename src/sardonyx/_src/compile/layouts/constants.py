"""Constant tensors of a program, shared by all regions that read the same elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np

from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

T = TypeVar("T")


class ConstantPool:
    """Tensors of constant data, and other results that regions share, such as packed weights."""

    def __init__(self) -> None:
        self._tensors: dict[object, TensorView] = {}
        self._memo: dict[object, object] = {}

    def tensor(self, elements: Array, key: object = None) -> TensorView:
        """A tensor of constant data, shared by all requests with the same key."""
        tensor = None if key is None else self._tensors.get(key)
        if tensor is None:
            # The reshape undoes that `ascontiguousarray` turns a scalar into a vector.
            data = np.ascontiguousarray(elements).reshape(elements.shape)
            buffer = Buffer("constant", data.nbytes, "constant", data)
            tensor = TensorView(DataType.of(data.dtype), data.shape, row_major_strides(data.shape), buffer)
            if key is not None:
                self._tensors[key] = tensor
        return tensor

    def memoize(self, key: object, make: Callable[[], T]) -> T:
        """The result of `make`, which is called for the first request with this key only."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast(T, self._memo[key])
