"""onnxruntime-genai."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import onnxruntime_genai


def open_model(facts: dict[str, Any]) -> Callable[[list[int], int], Iterator[int]]:
    config = onnxruntime_genai.Config(facts["path"])
    options = {"session_options": {"intra_op_num_threads": facts["threads"]}}
    config.overlay(json.dumps({"model": {"decoder": options}}))
    model = onnxruntime_genai.Model(config)

    def run(prompt: list[int], tokens: int) -> Iterator[int]:
        params = onnxruntime_genai.GeneratorParams(model)
        params.set_search_options(max_length=len(prompt) + tokens, do_sample=False)
        generator = onnxruntime_genai.Generator(model, params)
        generator.append_tokens(prompt)
        for _ in range(tokens):
            generator.generate_next_token()
            yield int(generator.get_next_tokens()[0])

    return run
