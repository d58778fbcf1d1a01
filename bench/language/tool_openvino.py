"""OpenVINO, with the caches as states of the compiled model, as OpenVINO GenAI holds them.

OpenVINO GenAI itself opens models of OpenVINO alone, and requires their tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import openvino
from openvino._offline_transformations import apply_make_stateful_transformation


def open_model(facts: dict[str, Any]) -> Callable[[list[int], int], Iterator[int]]:
    core = openvino.Core()
    model = core.read_model(f"{facts['path']}/model.onnx")
    pasts = {p.any_name: p.partial_shape for p in model.inputs if p.any_name.startswith("past")}
    apply_make_stateful_transformation(model, {name: name.replace("past", "present") for name in pasts})
    options = {"INFERENCE_NUM_THREADS": facts["threads"], "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(model, "CPU", options).create_infer_request()
    heads, each = (next(iter(pasts.values()))[axis].get_length() for axis in (1, 3))

    def run(prompt: list[int], tokens: int) -> Iterator[int]:
        for state in request.query_state():
            state.state = openvino.Tensor(np.zeros((1, heads, 0, each), np.float32))
        new = np.array(prompt)
        for total in range(len(prompt), len(prompt) + tokens):
            feeds = {"input_ids": new[None], "attention_mask": np.ones((1, total), np.int64)}
            request.infer(feeds)
            new = request.get_tensor("logits").data[0, -1:].argmax(-1)
            yield int(new[0])

    return run
