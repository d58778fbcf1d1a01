"""The service that `sardonyx serve` is compared with: the same ASGI stack (uvicorn, uvloop, httptools, Starlette, orjson) calling
onnxruntime, as users write it: tensors in and out as JSON or binary data, checked only as far as NumPy and onnxruntime do.

python bench/serving_peer.py MODEL PORT [inline]: runs in threads, or on the event loop, which is faster for small models.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnxruntime
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

DTYPES = {"FP32": np.float32, "INT64": np.int64}
NAMES = {"float32": "FP32", "int64": "INT64"}


def read_inputs(items: list[dict[str, Any]], body: bytes, offset: int) -> dict[str, Any]:
    """The inputs, from JSON or from the binary data that begin at an offset of the body."""
    feeds = {}
    for item in items:
        dtype, shape = np.dtype(DTYPES[item["datatype"]]), item["shape"]
        if "data" in item:
            feeds[item["name"]] = np.array(item["data"], dtype).reshape(shape)
            continue
        nbytes = item["parameters"]["binary_data_size"]
        feeds[item["name"]] = np.frombuffer(body, dtype, nbytes // dtype.itemsize, offset).reshape(shape)
        offset += nbytes
    return feeds


def respond(answer: dict[str, Any], names: list[str], results: list[Any], *, is_binary: bool) -> Response:
    outputs: list[dict[str, Any]] = [
        {"name": n, "datatype": NAMES[str(a.dtype)], "shape": a.shape}
        for n, a in zip(names, results, strict=True)
    ]
    for output, array in zip(outputs, results, strict=True):
        if is_binary:
            output["parameters"] = {"binary_data_size": array.nbytes}
        else:
            output["data"] = array.reshape(-1)
    text = orjson.dumps(answer | {"outputs": outputs}, option=orjson.OPT_SERIALIZE_NUMPY)
    if not is_binary:
        return Response(text, media_type="application/json")
    content = b"".join([text, *(array.tobytes() for array in results)])
    headers = {"inference-header-content-length": str(len(text))}
    return Response(content, media_type="application/octet-stream", headers=headers)


def main() -> None:
    path, port, *rest = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    if rest:  # a pool of threads that spin only takes time from the event loop
        options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names = [output.name for output in session.get_outputs()]

    async def infer(request: Request) -> Response:
        body = await request.body()
        length = request.headers.get("inference-header-content-length")
        message = orjson.loads(body if length is None else memoryview(body)[: int(length)])
        feeds = read_inputs(message["inputs"], body, int(length or 0))
        selected = [output["name"] for output in message.get("outputs", [])] or names
        results = (
            session.run(selected, feeds) if rest else await run_in_threadpool(session.run, selected, feeds)
        )
        answer = {"model_name": request.path_params["model"]}
        return respond(answer, selected, results, is_binary="parameters" in message)

    app = Starlette(routes=[Route("/v2/models/{model}/infer", infer, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(port), loop="uvloop", http="httptools", log_level="warning")


if __name__ == "__main__":
    main()
