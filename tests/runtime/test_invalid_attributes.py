"""Attribute values that an operator does not list: both engines and inference refuse them, before any optimisation."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.runtime.session import Engine

F = np.float32
IMAGE: dict[str, object] = {"x": np.arange(6, dtype=F).reshape(1, 1, 2, 3)}
GRID: dict[str, object] = {**IMAGE, "g": np.zeros((1, 2, 2, 2), F)}
RESIZE = "g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> "
INVALID: dict[str, tuple[int, str, dict[str, object]]] = {
    "Mod": (13, "g (float[1,1,2,3] x) => (float[1,1,2,3] y) { y = Mod <fmod = 7> (x, x) }", IMAGE),
    "Resize nearest": (
        13,
        RESIZE + '{ y = Resize <mode = "nearest", nearest_mode = "bogus"> (x, , s) }',
        IMAGE,
    ),
    "Resize linear": (
        13,
        RESIZE + '{ y = Resize <mode = "linear", nearest_mode = "bogus"> (x, , s) }',
        IMAGE,
    ),
    "GridSample": (
        16,
        'g (float[1,1,2,3] x, float[1,2,2,2] g) => (float[1,1,2,2] y) { y = GridSample <mode = "linear"> (x, g) }',
        GRID,
    ),
    "Pad": (
        11,
        'g (float[1,1,2,3] x, int64[8] p) => (float y) { y = Pad <mode = "wrap"> (x, p) }',
        {**IMAGE, "p": np.zeros(8, np.int64)},
    ),
    "DepthToSpace": (
        13,
        'g (float[1,1,2,3] x) => (float y) { y = DepthToSpace <blocksize = 1, mode = "X"> (x) }',
        IMAGE,
    ),
    "Gelu": (20, 'g (float[1,1,2,3] x) => (float[1,1,2,3] y) { y = Gelu <approximate = "erf"> (x) }', IMAGE),
    "MaxPool": (
        13,
        'g (float[1,1,2,3] x) => (float y) { y = MaxPool <kernel_shape = [1, 1], auto_pad = "SAME"> (x) }',
        IMAGE,
    ),
    "Softmax": (11, "g (float[1,1,2,3] x) => (float[1,1,2,3] y) { y = Softmax <axis = 5> (x) }", IMAGE),
}


@pytest.mark.parametrize("engine", ["reference", "auto", "native"])
@pytest.mark.parametrize("name", INVALID)
def test_engines_refuse_an_invalid_attribute(name: str, engine: Engine) -> None:
    opset, text, feeds = INVALID[name]
    with pytest.raises((sx.EvaluationError, sx.InferenceError)):
        sx.Session(parse_record(text, opset=opset), engine=engine).run(feeds)


@pytest.mark.parametrize("name", INVALID)
def test_inference_refuses_an_invalid_attribute(name: str) -> None:
    opset, text, _ = INVALID[name]
    with pytest.raises(sx.InferenceError):
        sx.infer(parse_model(text, opset=opset))


@pytest.mark.parametrize("name", INVALID)
def test_the_checker_reports_an_invalid_attribute(name: str) -> None:
    opset, text, _ = INVALID[name]
    assert not sx.check(parse_record(text, opset=opset)).ok
