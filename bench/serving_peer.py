"""The service that `sardonyx serve` is compared with: the same ASGI stack (uvicorn, uvloop, httptools, Starlette, orjson) calling
onnxruntime, as users write it: JSON tensors in and out, checked only as far as NumPy and onnxruntime do.

python bench/serving_peer.py MODEL PORT [inline]: runs in threads, or on the event loop, which is faster for small models.
"""

from __future__ import annotations

import sys

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


def main() -> None:
    path, port, *rest = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    if rest:  # a pool of threads that spin only takes time from the event loop
        options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names = [output.name for output in session.get_outputs()]

    async def infer(request: Request) -> Response:
        message = orjson.loads(await request.body())
        feeds = {
            item["name"]: np.array(item["data"], DTYPES[item["datatype"]]).reshape(item["shape"])
            for item in message["inputs"]
        }
        results = session.run(None, feeds) if rest else await run_in_threadpool(session.run, None, feeds)
        outputs = [
            {"name": n, "datatype": NAMES[str(a.dtype)], "shape": a.shape, "data": a.reshape(-1)}
            for n, a in zip(names, results, strict=True)
        ]
        answer = {"model_name": request.path_params["model"], "outputs": outputs}
        content = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(content, media_type="application/json")

    app = Starlette(routes=[Route("/v2/models/{model}/infer", infer, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(port), loop="uvloop", http="httptools", log_level="warning")


if __name__ == "__main__":
    main()
