"""Arguments of `sx.tools` of other Python types: TypeErrors that name them."""

from __future__ import annotations

from typing import Any

import pytest

import sardonyx as sx
from models import parse_model

MODEL = parse_model("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }")


@pytest.mark.parametrize(
    ("tool", "options"),
    [
        ("extract", {"outputs": 3}),
        ("extract", {"inputs": "x"}),
        ("rename", {"inputs": 3}),
        ("rename", {"nodes": {"a": 1}}),
        ("set_dims", {"dims": 3}),
        ("set_dims", {"inputs": {"x": 3}}),
        ("set_dims", {"free": 3}),
        ("bench", {"turns": "a"}),
        ("bench", {"feeds": 3}),
        ("compare", {"feeds": 3}),
        ("profile", {"feeds": 3}),
        ("node_costs", {"dims": 3}),
    ],
)
def test_wrong_types_are_named(tool: str, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(options))} must "):
        getattr(sx.tools, tool)(MODEL, **options)


@pytest.mark.parametrize("connect", [3, ["yx"], [("y",)], [("y", "x", "z")]])
def test_connections_are_pairs(connect: Any) -> None:
    with pytest.raises((TypeError, sx.InputError), match=r"^connect must be "):
        sx.tools.merge(MODEL, MODEL, connect)
