"""Conversion of tensors of other libraries for which `__array__` and `__dlpack__` are not sufficient."""

from __future__ import annotations

import sys

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array

MEMORY = {2: "CUDA", 10: "ROCm", 8: "Metal"}  # kinds of device memory, by the device type of DLPack
HOST = 1  # DLPack's device type of memory that the CPU reads


def foreign_array(value: object, name: str) -> object:
    """The value in a form that NumPy can convert; unchanged unless it is a tensor of PyTorch.

    Tensors that require gradients are detached, and bfloat16 tensors are converted by their bits.  Raises InputError for a
    tensor in the memory of a device.
    """
    refuse_device(value, name)
    if type(value).__module__.partition(".")[0] != "torch":
        return value
    detached = value.detach()  # type: ignore[attr-defined]  # a tensor of torch
    if str(detached.dtype) == "torch.bfloat16":
        return bfloat16_array(detached)
    return detached.resolve_conj().resolve_neg() if hasattr(detached, "resolve_conj") else detached


def bfloat16_array(tensor: object) -> Array:
    """A bfloat16 tensor of torch as an array.  Torch does not convert it, since NumPy itself has no such type."""
    int16 = sys.modules["torch"].int16  # torch is imported, since the tensor exists
    bits: Array = tensor.contiguous().view(int16).numpy()  # type: ignore[attr-defined]
    return bits.view(DataType.BFLOAT16.numpy)


def refuse_device(value: object, name: str) -> None:
    """Raises InputError for a tensor in the memory of a device, which the host does not read."""
    device = getattr(value, "__dlpack_device__", None)
    if device is None or isinstance(value, np.ndarray):
        return
    kind = device()[0]
    if int(kind) != HOST and int(kind) in MEMORY:
        cure = "copy it to the host first, as by x.cpu() or x.get()"
        raise InputError(f"input {name!r} is in the memory of {MEMORY[int(kind)]}: {cure}", name=name)
