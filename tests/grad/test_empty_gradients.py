"""Gradients of operators on tensors with an axis of size 0, and of attention without a visible key: zeros in the shapes of the inputs."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine

HEADER = '<ir_version: 11, opset_import: ["": 24]>'
CASES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "GridSample without points": ("y = GridSample(x, z)", {"x": (1, 2, 4, 4), "z": (1, 0, 3, 2)}),
    "GridSample without images": ("y = GridSample(x, z)", {"x": (0, 2, 4, 4), "z": (0, 1, 3, 2)}),
    "cubic GridSample without points": (
        'y = GridSample<mode = "cubic", padding_mode = "reflection">(x, z)',
        {"x": (1, 2, 4, 4), "z": (1, 2, 0, 2)},
    ),
    "DeformConv without instances": (
        "y = DeformConv<kernel_shape = [2, 2]>(x, w, z)",
        {"x": (0, 1, 3, 3), "w": (1, 1, 2, 2), "z": (0, 8, 2, 2)},
    ),
    "DeformConv with bias, mask and groups": (
        "y = DeformConv<kernel_shape = [2, 2], offset_group = 2>(x, w, z, b, m)",
        {"x": (0, 2, 3, 3), "w": (1, 2, 2, 2), "z": (0, 16, 2, 2), "b": (1,), "m": (0, 8, 2, 2)},
    ),
    "Conv of groups without instances": (
        "y = Conv<group = 2>(x, w)",
        {"x": (0, 4, 3, 3), "w": (6, 2, 2, 2)},
    ),
    "ReduceSum": (
        "a = Constant<value_ints = [1]>() y = ReduceSum<keepdims = 0>(x, a)",
        {"x": (0, 3)},
    ),
    "ReduceMean of no rows": (
        "a = Constant<value_ints = [1]>() y = ReduceMean<keepdims = 0>(x, a)",
        {"x": (2, 3, 0)},
    ),
    "ReduceProd": (
        "a = Constant<value_ints = [1]>() y = ReduceProd<keepdims = 0>(x, a)",
        {"x": (0, 3)},
    ),
    "MatMul": ("y = MatMul(x, z)", {"x": (0, 3), "z": (3, 2)}),
}


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_on_empty_tensors_are_zeros(name: str, engine: Engine) -> None:
    text, shapes = CASES[name]
    formals = ", ".join(
        f"float[{', '.join(f'{value}{i}' for i in range(len(shape)))}] {value}"
        if name.startswith(("Grid", "cubic", "Reduce", "MatMul"))
        else f"float[{', '.join('N' if size == 0 else str(size) for size in shape)}] {value}"
        for value, shape in shapes.items()
    )
    if name.startswith(("Grid", "cubic")):  # of known rank
        formals = "float[B,C,H,W] x, float[B,P,Q,2] z"
    model = sx.from_text(f"{HEADER} g ({formals}) => (float y) {{ {text} }}")
    model.graph.outputs[0].type = None
    feeds = {value: np.ones(shape, np.float32) for value, shape in shapes.items()}
    session = sx.Session(sx.gradient(model, "y", list(shapes)), engine=engine)
    results = session.run(feeds)
    for value, shape in shapes.items():
        gradient = results[f"{value}_gradient"]
        assert isinstance(gradient, np.ndarray) and gradient.shape == shape and not gradient.any()


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_query_without_a_visible_key_has_the_gradient_zero(engine: Engine) -> None:
    text = """g (float[1,1,2,4] q, float[1,1,3,4] k, float[1,1,3,4] v, bool[2,3] m) => (float[1,1,2,4] y) { y = Attention(q, k, v, m) }"""
    model = sx.gradient(sx.from_text(f"{HEADER} {text}"), "y", ["q", "k", "v"])
    draw = np.random.default_rng(0)
    feeds: dict[str, Array] = {
        name: draw.normal(size=(1, 1, rows, 4)).astype(np.float32)
        for name, rows in (("q", 2), ("k", 3), ("v", 3))
    }
    feeds["m"] = np.array([[True, True, False], [False, False, False]])
    results = sx.Session(model, engine=engine).run(feeds)
    gradients = [results[f"{name}_gradient"] for name in "qkv"]
    assert all(isinstance(gradient, np.ndarray) and np.isfinite(gradient).all() for gradient in gradients)
    query = np.asarray(gradients[0])
    assert not query[0, 0, 1].any() and query[0, 0, 0].any()
