"""`sx.Generator`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sardonyx as sx


def open_model(facts: dict[str, Any]) -> Callable[[list[int], int], Iterator[int]]:
    generator = sx.Generator(
        f"{facts['path']}/model.onnx", threads=facts["threads"], **facts.get("options", {})
    )

    def run(prompt: list[int], tokens: int) -> Iterator[int]:
        for piece in generator.stream(prompt, max_tokens=tokens):
            yield from piece.tokens

    return run
