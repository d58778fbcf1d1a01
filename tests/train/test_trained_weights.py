"""Which initializers of models, and of real exports, are trained: weights, and no constants that an exporter wrote beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx.train import prepare

EXPORTS = Path(__file__).parent / "exports"
# Buffers of the modules of exports/make.py.  In files that do not tell, the window, a factor, could also be a weight.
CONSTANTS = {"mean", "deviation", "blocks.0.mask", "blocks.1.mask"}
TOLD_CONSTANTS = CONSTANTS | {"blocks.0.window", "blocks.1.window"}
# Parameters of a block: two of each layer, two of its norm, and gamma; its scale has one element.
BLOCK, ENCODER = 4 * 2 + 2 + 1, 2 + 2 + 2  # words and places, norm, classes
SHARED_NORMS = 2 * 2  # the norms of the second block and at the end are those of the first
IMAGES = {
    "training": 15,
    "inference": 13,
    "dynamo": 13,
}  # recurrent: 4, or 3 of ONNX; the first norm is folded


def trained_by(model: sx.Model, **arguments: object) -> list[str]:
    (step,) = prepare(model, loss="mse", optimizer="sgd", **arguments).training  # type: ignore[arg-type]
    return [state.name for state, _ in step.update_binding if state.name in model.graph.initializers]


@pytest.mark.parametrize("trainable", [None, "*"])
@pytest.mark.parametrize("kind", ["training", "inference", "dynamo"])
def test_parameters_of_an_encoder(kind: str, trainable: str | None) -> None:
    trained = trained_by(sx.load(EXPORTS / f"encoder_{kind}.onnx"), trainable=trainable)
    windows = [name for name in trained if name.endswith("window")]
    count = 2 * BLOCK + ENCODER
    if kind == "dynamo":  # says which are parameters, a scalar included; equal ones of both blocks are one
        assert not TOLD_CONSTANTS & set(trained) and "blocks.0.scale" in trained
        assert len(trained) == count - SHARED_NORMS - 1 + 1
    else:
        assert not CONSTANTS & set(trained)
        shared = SHARED_NORMS + 1 if kind == "inference" else 0
        assert len(trained) - len(windows) == count - shared


@pytest.mark.parametrize("kind", ["training", "inference", "dynamo"])
def test_parameters_of_a_network_of_images(kind: str) -> None:
    trained = trained_by(sx.load(EXPORTS / f"images_{kind}.onnx"))
    assert not TOLD_CONSTANTS & set(trained)
    assert len(trained) == IMAGES[kind]
    assert "classes.bias" in trained  # of one element


POSITIONS = {
    "a bias of one element": ("y = Gemm(x, w, c)", "float[2, 1] w = {1, 2}, float[1] c = {3}", {"w", "c"}),
    "a slope of one element": ("y = PRelu(x, c)", "float[1] c = {0.25}", {"c"}),
    "a scalar factor": (
        "m = MatMul(x, w) y = Mul(m, c)",
        "float[2, 2] w = {1, 2, 3, 4}, float c = {3}",
        {"w"},
    ),
    "offsets and factors of inputs": (
        "a = Sub(x, c) b = Div(a, d) y = MatMul(b, w)",
        "float[2, 2] w = {1, 2, 3, 4}, float[2] c = {3, 4}, float[2] d = {3, 4}",
        {"w"},
    ),
    "a weight with a norm": (
        "n = ReduceL2(w) u = Div(w, n) v = Mul(u, g) y = MatMul(x, v)",
        "float[2, 2] w = {1, 2, 3, 4}, float[1, 2] g = {3, 4}",
        {"w", "g"},
    ),
    "a mask": (
        """o = Constant <value_float: float = 1.0> () f = Constant <value_float: float = -1e9> () i = Sub(o, k) a = Mul(i, f)
           m = MatMul(x, w) y = Add(m, a)""",
        "float[2, 2] w = {1, 2, 3, 4}, float[2, 2] k = {1, 0, 1, 1}",
        {"w"},
    ),
    "large terms": (
        "m = MatMul(x, w) y = Add(m, k)",
        "float[2, 2] w = {1, 2, 3, 4}, float[2, 2] k = {0, -1e9, 0, 0}",
        {"w"},
    ),
    "frequencies": (
        "a = MatMul(x, f) s = Sin(a) c = Cos(a) d = Add(s, c) y = MatMul(d, w)",
        "float[2, 2] w = {1, 2, 3, 4}, float[2, 2] f = {1, 2, 3, 5}",
        {"w"},
    ),
    "a choice": (
        "z = Constant <value_float: float = 0.0> () l = Less(x, z) m = MatMul(x, w) y = Where(l, c, m)",
        "float[2, 2] w = {1, 2, 3, 4}, float[2] c = {3, 4}",
        {"w"},
    ),
    "a transposed weight and a bias of ones and zeros": (
        "t = Transpose(w) m = MatMul(x, t) y = Add(m, c)",
        "float[2, 2] w = {1, 2, 3, 4}, float[2] c = {0, 1}",
        {"w", "c"},
    ),
}


@pytest.mark.parametrize("case", POSITIONS)
def test_the_operator_that_a_tensor_meets_decides(case: str) -> None:
    nodes, initializers, expected = POSITIONS[case]
    model = parse_model(f"g (float[N, 2] x) => (float[N, M] y) <{initializers}> {{ {nodes} }}")
    assert set(trained_by(model)) == set(trained_by(model, trainable="*")) == expected


def test_weights_of_functions_and_loops() -> None:
    model = sx.from_text("""<ir_version: 8, opset_import: ["": 17, "local": 1]>
      g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] c = {5, 6}, float[2, 2] r = {1, 1, 1, 2}> {
        h = local.layer(x, w, c) n = Constant <value: tensor = int64 {3}> () t = Constant <value: tensor = bool {1}> ()
        y = Loop(n, t, h) <body = b (int64 i, bool p, float[N, 2] s) => (bool q, float[N, 2] u) { q = Identity(p) u = MatMul(s, r) }> }
      <domain: "local", opset_import: ["": 17]>
      layer (x, w, c) => (y) { d = Sub(x, c) y = MatMul(d, w) }""")
    assert trained_by(model) == ["w", "r"]


def test_a_name_trains_a_constant_and_a_pattern_does_not() -> None:
    model = parse_model("g (float[N, 2] x) => (float[N, 2] y) <float[2] mean = {1, 2}, float[2, 2] w = {1, 2, 3, 4}> "
                       "{ a = Sub(x, mean) y = MatMul(a, w) }")  # fmt: skip
    assert trained_by(model, trainable="mean") == ["mean"]
    with pytest.raises(
        sx.InputError, match=r"'me\*' matches constants only, such as 'mean'; give the whole name"
    ):
        prepare(model, loss="mse", trainable="me*")


def test_notes_name_constants_and_merged_weights() -> None:
    notes = [note.message for note in prepare(sx.load(EXPORTS / "encoder_inference.onnx"), loss="mse").notes]
    assert any(text.startswith("initializer 'mean' is taken for constants") for text in notes)
    assert any("'blocks.0.norm.weight'" in text and "keeps them equal" in text for text in notes)
    training = prepare(sx.load(EXPORTS / "encoder_training.onnx"), loss="mse").notes
    assert not any("keeps them equal" in note.message for note in training)


@pytest.mark.parametrize("kind", ["inference", "dynamo"])
def test_folded_norms_of_both_exporters_are_noted(kind: str) -> None:
    notes = prepare(sx.load(EXPORTS / f"images_{kind}.onnx"), loss="mse").notes
    assert any("BatchNormalization seems to be folded into 1 convolutions" in note.message for note in notes)
