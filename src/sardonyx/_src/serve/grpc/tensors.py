"""Tensors of gRPC messages: raw contents, or elements in the field of their datatype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.serve.grpc.messages import InferInputTensor, InferTensorContents
from sardonyx._src.serve.protocol.binary_data import STRING_BYTES, decode_tensor
from sardonyx._src.serve.protocol.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance
from sardonyx._src.serve.protocol.tensor_shapes import check_count, check_shape
from sardonyx._src.suggestions import did_you_mean

# FP16 and BF16 have no field: they need raw contents.
CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


def decode_inputs(
    tensors: Sequence[InferInputTensor], raw: Sequence[memoryview], allowance: Allowance | None = None
) -> dict[str, Array]:
    """The inputs of a request, of which either all or none have raw contents.  Raises RequestFailure.

    allowance: counts the bytes of tensors that are no views of the message; None if they are few.
    """
    if raw and len(raw) != len(tensors):
        why = f"raw_input_contents must have one entry for each of {len(tensors)} inputs; got {len(raw)}"
        raise invalid(why)
    inputs: dict[str, Array] = {}
    for i, tensor in enumerate(tensors):
        if tensor.name in inputs:
            raise invalid(f"an input must occur once; got {tensor.name!r} twice")
        inputs[tensor.name] = decode_input(tensor, raw[i] if raw else None, allowance)
    return inputs


def decode_input(tensor: InferInputTensor, raw: memoryview | None, allowance: Allowance | None) -> Array:
    name, datatype = tensor.name, tensor.datatype
    if datatype not in ELEMENT_TYPES:
        cure = did_you_mean(datatype, ELEMENT_TYPES)
        known = ", ".join(ELEMENT_TYPES)
        raise invalid(f"datatype of input {name!r} must be one of {known}; got {shown(datatype)}{cure}")
    shape = check_shape(name, tensor.shape)
    if raw is not None:
        if tensor.contents is not None:
            raise invalid(f"input {name!r} must have contents or raw contents; got both")
        return decode_tensor(name, datatype, shape, raw, allowance)
    return decode_contents(name, datatype, shape, tensor.contents or InferTensorContents(), allowance)


def decode_contents(
    name: str,
    datatype: str,
    shape: tuple[int, ...],
    contents: InferTensorContents,
    allowance: Allowance | None,
) -> Array:
    """The tensor of an input whose elements are in the field of its datatype."""
    field = CONTENTS.get(datatype)
    if field is None:
        raise invalid(
            f"input {name!r} of datatype {datatype} must have raw contents: no field holds its elements"
        )
    parts = getattr(contents, field)
    element_type = ELEMENT_TYPES[datatype]
    if element_type is DataType.STRING:
        check_count(name, shape, len(parts))
        if allowance is not None:
            allowance.add(sum(map(len, parts)) + STRING_BYTES * len(parts))
        strings = np.empty(len(parts), object)
        strings[:] = [str(part, "utf-8", "surrogateescape") for part in parts]
        return strings.reshape(shape)
    count = sum(map(len, parts))
    check_count(name, shape, count)
    if allowance is not None:
        # The parts are joined, at 8 bytes or fewer for each element, and then converted to the element type.
        allowance.add(count * (element_type.numpy.itemsize + 8))
    elements = np.concatenate(parts) if parts else np.zeros(0, element_type.numpy)
    array = elements.astype(element_type.numpy)
    if elements.dtype != array.dtype and (misfits := np.flatnonzero(array != elements)).size:
        index = int(misfits[0])
        raise invalid(
            f"contents of input {name!r} must be {datatype}; got {elements[index]} (element {index})"
        )
    return array.reshape(shape)


def invalid(why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, why)
