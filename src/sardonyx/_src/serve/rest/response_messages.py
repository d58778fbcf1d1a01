"""Inference responses as HTTP bodies: JSON, followed by the binary data of tensors for which the client requests it.

A long response is encoded in slices; the bytes of each slice are counted before the next one is made, and slices are sent one
by one.

Spec: Open Inference Protocol v2, Inference Response JSON Object; Binary Tensor Data Extension.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.serve.protocol.binary_data import encode_pieces
from sardonyx._src.serve.protocol.codec_threads import yield_interpreter
from sardonyx._src.serve.protocol.datatypes import datatype_of
from sardonyx._src.serve.protocol.held_bytes import Allowance
from sardonyx._src.serve.protocol.inference_messages import RequestedForm
from sardonyx._src.serve.protocol.json_data import json_elements
from sardonyx._src.serve.protocol.json_text import format_json
from sardonyx._src.serve.protocol.requests import InferenceResponse
from sardonyx._src.serve.rest.responses import Part

SLICE = 1 << 13  # elements of a slice
SHORT = 1 << 20  # bytes up to which a response is encoded at once, on the event loop
JSON_BYTES = 24  # upper bound of the characters of a number in JSON
MAX_SHORT_STRINGS = 1024  # strings of a tensor up to which a response may be short


def is_short_response(response: InferenceResponse, form: RequestedForm) -> bool:
    """Whether a response can be encoded in a few milliseconds and has few bytes."""
    size = 0
    for name, tensor in response.outputs.items():
        if tensor.dtype.kind in "OUT":
            if tensor.size > MAX_SHORT_STRINGS:
                return False
            size += sum(map(len, tensor.reshape(-1).tolist()))
        else:
            size += tensor.nbytes if form.is_binary(name) else tensor.size * JSON_BYTES
    return size <= SHORT


def format_response(response: InferenceResponse, form: RequestedForm) -> tuple[list[Part], list[Part]]:
    """The JSON of a short response, and the binary data that follow the JSON.

    Raises RequestFailure for outputs that JSON cannot express.
    """
    binary: list[Part] = []
    outputs = []
    for name, tensor in response.outputs.items():
        output = describe_output(name, tensor)
        if form.is_binary(name):
            output["parameters"] = {"binary_data_size": add_binary(binary, tensor)}
        else:
            output["data"] = json_elements(name, tensor)
        outputs.append(output)
    text = format_json({**describe_response(response), "outputs": outputs})
    if b"null" in text:  # the encoder may have written it for NaN or an infinity
        return format_in_slices(response, form)
    return [text], binary


def format_in_slices(
    response: InferenceResponse, form: RequestedForm, allowance: Allowance | None = None
) -> tuple[list[Part], list[Part]]:
    """`format_response` for a response of any length.  allowance: counts its bytes; None if they are few."""
    if allowance is not None:
        allowance.check(sum(min_size(name, tensor, form) for name, tensor in response.outputs.items()))
    binary: list[Part] = []
    text: list[Part] = [format_json(describe_response(response))[:-1], b',"outputs":[']
    for number, (name, tensor) in enumerate(response.outputs.items()):
        output = describe_output(name, tensor)
        if form.is_binary(name):
            output["parameters"] = {"binary_data_size": add_binary(binary, tensor, allowance)}
        text += (b"," if number else b"", format_json(output)[:-1])
        if not form.is_binary(name):
            text.append(b',"data":[')
            add_parts(text, element_texts(name, tensor), allowance)
            text.append(b"]")
        text.append(b"}")
    text.append(b"]}")
    return text, binary


def describe_response(response: InferenceResponse) -> dict[str, object]:
    """The fields of a response before its outputs."""
    message: dict[str, object] = {"model_name": response.model, "model_version": response.version}
    if response.id:
        message["id"] = response.id
    if response.parameters:
        message["parameters"] = response.parameters
    return message


def describe_output(name: str, tensor: Array) -> dict[str, object]:
    """The fields of an output before its data."""
    return {"name": name, "datatype": datatype_of(tensor), "shape": tensor.shape}


def min_size(name: str, tensor: Array, form: RequestedForm) -> int:
    """A lower bound of the bytes of an output: in JSON, an element has at least a digit and a comma."""
    return tensor.nbytes if form.is_binary(name) and tensor.dtype.kind not in "OUT" else 2 * tensor.size


def add_binary(parts: list[Part], tensor: Array, allowance: Allowance | None = None) -> int:
    """Adds the binary data of an output; returns their size in bytes."""
    return add_parts(parts, encode_pieces(tensor), allowance)


def add_parts(parts: list[Part], more: Iterator[Part], allowance: Allowance | None) -> int:
    """Adds parts, and counts the bytes of each part before the next one is made; returns their size in bytes."""
    size = 0
    for part in more:
        if allowance is not None:
            allowance.add(len(part))
        parts.append(part)
        yield_interpreter()
        size += len(part)
    return size


def element_texts(name: str, tensor: Array) -> Iterator[bytes]:
    """The elements of an output as JSON, in slices, with commas."""
    flat = tensor.reshape(-1)
    for begin in range(0, flat.size, SLICE):
        part = flat[begin : begin + SLICE]
        elements = json_elements(name, part)
        text = format_json(elements)[1:-1]
        if part.dtype.kind not in "OUT" and b"null" in text:
            text = insert_tokens(text, np.asarray(elements))
        yield b"," + text if begin else text


def insert_tokens(text: bytes, elements: Array) -> bytes:
    """The JSON text with the tokens of NaN and infinities instead of the encoder's null."""
    tokens = [non_finite_token(float(value)) for value in elements[~np.isfinite(elements)]]
    pieces = text.split(b"null")
    return b"".join(part for pair in zip(pieces, [*tokens, b""], strict=True) for part in pair)


def non_finite_token(value: float) -> bytes:
    if value != value:
        return b"NaN"
    return b"Infinity" if value > 0 else b"-Infinity"
