"""Attribute values that an operator does not list: both engines and inference refuse them, before any optimization."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.runtime.session.session import Engine

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
    with pytest.raises((sx.EvaluationError, sx.InferenceError, sx.InvalidModel)):
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


@pytest.mark.parametrize("engine", ["reference", "auto", "native"])
@pytest.mark.parametrize(
    "text",
    [
        "g (float[2,3] x) => (float[2,3] y) { dead = Concat <axis = 0> (x) bad = Mod <fmod = 7> (x, x) y = Neg(x) }",
        """g (float[2,3] x) => (float[2,3] y) { y = com.example.F(x) }
           <domain: "com.example", opset_import: ["": 13]> F (a) => (b) { bad = Mod <fmod = 7> (a, a) b = Neg(a) }""",
        """g (float[2,3] x, bool c) => (float[2,3] y) {
           y = If (c) <then_branch = t () => (float[2,3] p) { p = Neg(x) },
                       else_branch = e () => (float[2,3] q) { q = Mod <fmod = 7> (x, x) }> }""",
    ],
    ids=["dead node", "function", "branch"],
)
def test_an_invalid_attribute_is_refused_where_it_has_no_effect(text: str, engine: Engine) -> None:
    model = parse_model(text, opset=13, more='"com.example": 1' if "com.example" in text else "")
    with pytest.raises(sx.InvalidModel, match="fmod must be 0 or 1; got 7"):
        sx.Session(model, engine=engine)


@pytest.mark.parametrize("engine", ["reference", "auto", "native"])
def test_an_invalid_attribute_of_a_call_is_refused(engine: Engine) -> None:
    text = """g (float[2,3] x) => (float[2,3] y) { y = com.example.F <mode = 7> (x) }
       <domain: "com.example", opset_import: ["": 13]> F <mode> (a) => (b) { b = Mod <fmod: int = @mode> (a, a) }"""
    model = parse_model(text, opset=13, more='"com.example": 1')
    with pytest.raises(sx.SardonyxError, match="fmod must be 0 or 1; got 7"):
        sx.Session(model, engine=engine).run({"x": np.ones((2, 3), F)})


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 5> (x) }", 1),
        ("g (float[2,3] x) => (float[2,3] y) { y = Mod <fmod = 7> (x, x) }", 13),
        ("g (float[2,3] x, float[2] b) => (float[2,3] y) { y = Add <broadcast = 1, axis = 5> (x, b) }", 6),
    ],
)
def test_what_its_own_version_rejects_is_not_converted(text: str, opset: int) -> None:
    model = parse_model(text, opset=opset)
    with pytest.raises(sx.ConversionError):
        sx.convert(model, opset=28)
    assert len(sx.tools.convert_partially(model, opset=28).errors) == 1
