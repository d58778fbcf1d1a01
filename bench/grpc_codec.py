"""What do the messages of gRPC cost, compared with protobuf?

Request: from bytes to the arrays of its inputs.  Response: from arrays to bytes.  Both sides end or begin with the same NumPy arrays, since
models take and make these.  Protobuf is its Python package with the implementation in C (upb): bytes fields are copied into messages,
and from there into arrays or not, as NumPy can view them; numbers in fields become Python objects one by one.  Sardonyx views the bytes of
the message, and makes arrays of numbers in fields at once; its code is Python, so that a message of a few numbers takes four times as long:
some 8 µs of a call, which takes hundreds.  Without protobuf, a service has one dependency less, of which other packages of
a process may need another version; its messages are bounded (`MAX_FIELDS`), and a long one lets the event loop run.

Microseconds of processor time, the least of interleaved rounds, in one process with one thread, whose heap is that of a service.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from measure import FOLDER, commit, machine
from sardonyx._src.io.memory_release import map_large_blocks
from sardonyx._src.serve.grpc.messages import (
    InferOutputTensor,
    ModelInferRequest,
    ModelInferResponse,
)
from sardonyx._src.serve.grpc.tensors import decode_inputs
from sardonyx._src.serve.grpc.wire_decoder import decode
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.service.service import MAPPED_BYTES
from serve.protobuf_messages import message_classes

PAGE = FOLDER.parent / "docs" / "generated" / "grpc_codec.md"
ROUNDS, SECONDS = 40, 0.02
PROTOBUF = message_classes()
Array = np.ndarray[Any, Any]
Work = Callable[[], object]


def least_seconds(works: list[Work]) -> list[float]:
    """The least processor seconds of a call of each, over rounds in which all have their turn."""
    counts = []
    for work in works:
        begin = time.process_time()
        work()
        counts.append(max(1, int(SECONDS / max(time.process_time() - begin, 1e-6))))
    least = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for i, (work, count) in enumerate(zip(works, counts, strict=True)):
            begin = time.process_time()
            for _ in range(count):
                work()
            least[i] = min(least[i], (time.process_time() - begin) / count)
    return least


def request_of(arrays: dict[str, Array], *, is_raw: bool) -> bytes:
    """The message of a request, by protobuf."""
    message = PROTOBUF["ModelInferRequest"](model_name="model", id="7")
    for name, array in arrays.items():
        tensor = message.inputs.add(name=name, datatype="FP32", shape=array.shape)
        if is_raw:
            message.raw_input_contents.append(array.tobytes())
        else:
            tensor.contents.fp32_contents.extend(array.reshape(-1).tolist())
    return bytes(message.SerializeToString())


def read_ours(data: bytes) -> dict[str, Array]:
    message = decode(ModelInferRequest, data)
    return decode_inputs(message.inputs, message.raw_input_contents)


def read_protobuf(data: bytes) -> dict[str, Array]:
    message = PROTOBUF["ModelInferRequest"]()
    message.ParseFromString(data)
    arrays = {}
    for number, tensor in enumerate(message.inputs):
        shape = tuple(tensor.shape)
        if message.raw_input_contents:
            array = np.frombuffer(message.raw_input_contents[number], "<f4")
        else:
            array = np.array(tensor.contents.fp32_contents, np.float32)
        arrays[tensor.name] = array.reshape(shape)
    return arrays


def write_ours(arrays: dict[str, Array]) -> bytes:
    outputs = [InferOutputTensor(name, "FP32", list(array.shape)) for name, array in arrays.items()]
    contents: list[bytes | memoryview] = [array.reshape(-1).view(np.uint8).data for array in arrays.values()]
    return encode(ModelInferResponse("model", "1", "7", {}, outputs, contents))


def write_protobuf(arrays: dict[str, Array]) -> bytes:
    message = PROTOBUF["ModelInferResponse"](model_name="model", model_version="1", id="7")
    for name, array in arrays.items():
        message.outputs.add(name=name, datatype="FP32", shape=array.shape)
        message.raw_output_contents.append(array.tobytes())
    return bytes(message.SerializeToString())


def cases() -> dict[str, list[Work]]:
    """Ours and protobuf's work, by what it does; both give the same."""
    result: dict[str, list[Work]] = {}
    tensors: dict[str, list[tuple[int, ...]]] = {
        "1 tensor of 16 numbers": [(1, 16)],
        "20 tensors of 16 numbers": [(1, 16)] * 20,
        "an image, 600 KB": [(1, 3, 224, 224)],
        "a batch of images, 19 MB": [(32, 3, 224, 224)],
    }
    for title, shapes in tensors.items():
        arrays = {
            f"x{i}": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for i, shape in enumerate(shapes)
        }
        raw = request_of(arrays, is_raw=True)
        result[f"request, {title}"] = [lambda data=raw: read_ours(data), lambda data=raw: read_protobuf(data)]  # type: ignore[misc]
        if len(raw) < 1 << 20:
            fields = request_of(arrays, is_raw=False)
            result[f"request, {title}, in fields"] = [
                lambda data=fields: read_ours(data),  # type: ignore[misc]
                lambda data=fields: read_protobuf(data),  # type: ignore[misc]
            ]
        result[f"response, {title}"] = [
            lambda arrays=arrays: write_ours(arrays),  # type: ignore[misc]
            lambda arrays=arrays: write_protobuf(arrays),  # type: ignore[misc]
        ]
    return result


def require_equal(works: list[Work]) -> None:
    ours, theirs = (work() for work in works)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)
    else:
        assert ours == theirs


def main() -> None:
    map_large_blocks(MAPPED_BYTES)
    rows = []
    for title, works in cases().items():
        require_equal(works)
        ours, theirs = least_seconds(works)
        rows.append(f"| {title} | {ours * 1e6:.1f} | {theirs * 1e6:.1f} | {theirs / ours:.2f} |")
        print(rows[-1], flush=True)
    head = ["# Messages of gRPC and protobuf", "", (__doc__ or "").strip(), ""]
    head += [
        "Written by `python bench/grpc_codec.py`.",
        "",
        "| message | sardonyx, µs | protobuf, µs | ratio |",
    ]
    tail = ["", f"Measured at {commit()}: {machine()}"]
    PAGE.write_text("\n".join([*head, "|---|---:|---:|---:|", *rows, *tail]) + "\n")


if __name__ == "__main__":
    main()
