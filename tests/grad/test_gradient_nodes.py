"""Gradient nodes: fed points, derivatives of second order, functions, subgraphs, and tools that meet such models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine

HEADER = '<ir_version: 10, opset_import: ["": 18, "ai.onnx.preview.training": 1]>'
ENGINES: tuple[Engine, ...] = ("reference", "native")
X, W = np.array([1.0, 2.0, 3.0], np.float32), np.array([0.5, -1.0, 2.0], np.float32)


def run(text: str, engine: Engine, **feeds: object) -> dict[str, Array]:
    return outputs(sx.from_text(f"{HEADER} {text}"), engine, **feeds)


def outputs(model: sx.Model, engine: Engine, **feeds: object) -> dict[str, Array]:
    """The outputs of a run, which are tensors."""
    results = sx.Session(model, engine=engine).run(feeds)
    return {name: value for name, value in results.items() if isinstance(value, np.ndarray)}


CUBE = """g (float[3] x, float[3] w) => (float[3] dx, float[3] dw) {
  p = Mul(x, x)
  q = Mul(p, w)
  y = ReduceSum<keepdims = 0>(q)
  dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], y = "y">(x, w)
}"""


@pytest.mark.parametrize("engine", ENGINES)
def test_partial_derivatives(engine: Engine) -> None:
    results = run(CUBE, engine, x=X, w=W)
    np.testing.assert_allclose(results["dx"], 2 * X * W)
    np.testing.assert_allclose(results["dw"], X * X)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_inputs_are_the_point_of_differentiation(engine: Engine) -> None:
    text = CUBE.replace("(x, w)\n}", "(p, q)\n}")
    results = run(text, engine, x=X, w=W)
    np.testing.assert_allclose(results["dx"], 2 * (X * X) * (X * X * W))
    np.testing.assert_allclose(results["dw"], X**4)


@pytest.mark.parametrize("engine", ENGINES)
def test_zs_are_independent_of_xs(engine: Engine) -> None:
    """y = p * w, with p = x * x held constant."""
    text = CUBE.replace('xs = ["x", "w"], y', 'xs = ["x", "w"], zs = ["p"], y').replace(
        "(x, w)\n}", "(x, w, p)\n}"
    )
    results = run(text, engine, x=X, w=W)
    np.testing.assert_array_equal(results["dx"], np.zeros(3))
    np.testing.assert_allclose(results["dw"], X * X)


@pytest.mark.parametrize("engine", ENGINES)
def test_second_order(engine: Engine) -> None:
    text = """g (float[3] x) => (float[3] second) {
      p = Mul(x, x)
      y = Mul(p, x)
      first = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x)
      second = ai.onnx.preview.training.Gradient<xs = ["x"], y = "first">(x)
    }"""
    np.testing.assert_allclose(run(text, engine, x=X)["second"], 6 * X)


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_in_functions_and_branches(engine: Engine) -> None:
    text = """g (float[3] x, bool c) => (float[3] d) {
      d = If(c) <
        then_branch = t () => (float[3] e) { e = my.Slope(x) },
        else_branch = f () => (float[3] h) { s = Sin(x) h = ai.onnx.preview.training.Gradient<xs = ["x"], y = "s">(x) }
      >
    }
    <domain: "my", opset_import: ["": 18, "ai.onnx.preview.training": 1]>
    Slope (u) => (v) { s = Exp(u) v = ai.onnx.preview.training.Gradient<xs = ["u"], y = "s">(u) }"""
    header = HEADER.replace("]>", ', "my": 1]>')
    model = sx.from_text(f"{header} {text}")
    np.testing.assert_allclose(outputs(model, engine, x=X, c=True)["d"], np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(outputs(model, engine, x=X, c=False)["d"], np.cos(X), rtol=1e-6)


def test_left_out_outputs_are_not_computed() -> None:
    text = CUBE.replace("dx, dw = ai", '"", dw = ai').replace("float[3] dx, ", "")
    np.testing.assert_allclose(run(text, "reference", x=X, w=W)["dw"], X * X)


def test_optimized_models_compute_the_same() -> None:
    model = sx.from_text(f"{HEADER} {CUBE}")
    results = outputs(sx.optimize(model, verify=True), "reference", x=X, w=W)
    np.testing.assert_allclose(results["dx"], 2 * X * W)


def test_profiles_time_what_gradient_nodes_compute() -> None:
    profile = sx.tools.profile(sx.from_text(f"{HEADER} {CUBE}"), {"x": X, "w": W})
    assert profile.stats.fallback_nodes == 0
    assert profile.actions


def test_stages_of_the_compiler_can_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(sx.from_text(f"{HEADER} {CUBE}"), tmp_path / "m.onnx")
    assert main(["run", str(tmp_path / "m.onnx"), "--show", "steps"]) == 0
    assert "elementwise" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('y = "y"', 'y = "nothing"'), "names 'nothing', which is no value"),
        (("(x, w)\n}", "(x)\n}"), "must have 2 inputs"),
    ],
)
def test_invalid_nodes_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        run(CUBE.replace(*change), "reference", x=X, w=W)
