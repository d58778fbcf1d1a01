"""onnxruntime in a loop that feeds caches back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime


def open_model(facts: dict[str, Any]) -> Callable[[list[int], int], Iterator[int]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = facts["threads"]
    session = onnxruntime.InferenceSession(
        f"{facts['path']}/model.onnx", options, providers=["CPUExecutionProvider"]
    )
    caches = session.get_inputs()[2:]
    names = [cache.name for cache in caches]
    order = [name.replace("past", "present") for name in names]

    def run(prompt: list[int], tokens: int) -> Iterator[int]:
        pasts = [np.zeros((1, cache.shape[1], 0, cache.shape[3]), np.float32) for cache in caches]
        new = np.array(prompt)
        for total in range(len(prompt), len(prompt) + tokens):
            feeds = {"input_ids": new[None], "attention_mask": np.ones((1, total), np.int64)}
            logits, *pasts = session.run(["logits", *order], feeds | dict(zip(names, pasts, strict=True)))
            new = logits[0, -1:].argmax(-1)
            yield int(new[0])

    return run
