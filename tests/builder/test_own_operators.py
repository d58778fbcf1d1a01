"""Operators that callers define: in the checker, inference, both engines, gradients, conversion and the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx

PAGE = Path(__file__).resolve().parents[2] / "docs/extending.md"
X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
FLOATS = {"T": ["float", "double"]}


@sx.operator("test.own", types=FLOATS, inputs={"x": "T"}, outputs={"y": "T"}, infer="same")
def Shift(x: Any, *, amount: float = 1.0) -> Any:
    """Values moved by an amount."""
    return x + np.asarray(amount, x.dtype)


@sx.operator(
    "test.own",
    types=FLOATS,
    inputs={"x": "T"},
    outputs={"y": "T"},
    infer="same",
    expression=lambda b, x, *, alpha: x * b.Sigmoid(x * alpha),
)
def Swoosh(x: Any, *, alpha: float = 1.5) -> Any:
    return x / (1 + np.exp(-np.asarray(alpha, x.dtype) * x))


@sx.operator("test.own", types=FLOATS, inputs={"xs": "T"}, outputs={"least": "T", "most": "T"})
def Extremes(*xs: Any) -> tuple[Any, Any]:
    return np.min(xs, axis=0), np.max(xs, axis=0)


@sx.operator("test.own", types=FLOATS, inputs={"x": "T", "scale": "T"}, outputs={"y": "T"}, infer="same")
def Scaled(x: Any, scale: Any = None) -> Any:
    return x if scale is None else x * scale


def swoosh(x: Any, alpha: float) -> Any:
    return x / (1 + np.exp(-alpha * x.astype(np.float64)))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_own_operators_run(engine: Any) -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 3])
    own = b.domain("test.own")
    y = own.Swoosh(own.Shift(x, amount=0.5), alpha=2.0)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    least, most = own.Extremes(x, y)
    model = b.model(y=y, s=own.Scaled(x), t=own.Scaled(x, 2.0))
    for value, name in ((least, "least"), (most, "most")):
        b.output(value, name, b.tensor("float", ["N", 3]))
    assert [d for d in sx.check(model).diagnostics if d.severity == "error"] == []
    session = sx.Session(model, engine=engine)
    results = session.run({"x": X})
    np.testing.assert_allclose(np.asarray(results["y"]), swoosh(X + 0.5, 2), rtol=1e-5)
    np.testing.assert_array_equal(results["least"], np.minimum(X, np.asarray(results["y"])))
    np.testing.assert_array_equal(results["t"], X * 2)


def test_expressions_are_compiled() -> None:
    b = sx.Builder(21)
    session = sx.Session(
        b.model(y=b.domain("test.own").Swoosh(b.input("x", "float32", [2, 3]))), engine="native"
    )
    np.testing.assert_allclose(np.asarray(session.run({"x": X})["y"]), swoosh(X, 1.5), rtol=1e-5)
    assert session.stats.fallback_nodes == 0


def test_expressions_are_differentiated_and_converted() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [2, 3])
    model = b.model(y=b.ReduceSum(b.domain("test.own").Swoosh(x), keepdims=0))
    gradient = np.asarray(sx.Session(sx.gradient(model, of="y", wrt=["x"])).run({"x": X})["x_gradient"])
    step = 1e-5
    expected = (swoosh(X + step, 1.5) - swoosh(X - step, 1.5)) / (2 * step)
    np.testing.assert_allclose(gradient, expected, rtol=1e-2, atol=1e-3)
    portable = sx.convert(model, sets={"test.own": 0})
    assert set(portable.opset_imports) == {""}
    np.testing.assert_allclose(
        np.asarray(sx.Session(portable).run({"x": X})["y"]), swoosh(X, 1.5).sum(), rtol=1e-5
    )


def test_operators_without_expression_are_not_converted() -> None:
    b = sx.Builder(21)
    model = b.model(y=b.domain("test.own").Shift(b.input("x", "float32", [2])))
    converted = sx.convert(model, sets={"test.own": 0})
    assert [node.op_type for node in converted.graph.nodes] == ["Shift"]


def test_the_checker_holds_nodes_to_the_signature() -> None:
    text = (
        '<ir_version: 10, opset_import: ["": 21, "test.own": 1]> g (float[2] x) => (float[2] y) {{ y = {} }}'
    )
    wrong = {
        "test.own.Shift <amout = 1.0> (x)": "amout",
        "test.own.Shift (x, x)": "input",
        "test.own.Shift <amount = 1> (x)": "amount",
    }
    for node, named in wrong.items():
        report = sx.check(sx.from_text(text.format(node)))
        assert any(named in d.message for d in report.diagnostics if d.severity == "error"), node


def test_builders_hold_calls_to_the_signature() -> None:
    b = sx.Builder(21)
    x = b.input("x", "int32", [2])
    with pytest.raises(sx.InferenceError, match=r"must be tensor\(float\), tensor\(double\)"):
        b.domain("test.own").Shift(x)
    with pytest.raises(sx.InputError, match="did you mean 'amount'"):
        b.domain("test.own").Shift(np.zeros(2), amout=1)


def test_a_second_definition_replaces_the_first() -> None:
    for factor in (2, 3):

        @sx.operator("test.own", types=FLOATS, inputs={"x": "T"}, outputs={"y": "T"}, infer="same")
        def Times(x: Any, factor: int = factor) -> Any:
            return x * factor

        b = sx.Builder(21)
        model = b.model(y=b.domain("test.own").Times(np.ones(2, np.float32)))
        np.testing.assert_array_equal(sx.Session(model).run({})["y"], [factor] * 2)


@pytest.mark.parametrize(
    ("domain", "options", "why"),
    [
        ("", {}, "domain must be one of your own"),
        ("ai.onnx.ml", {}, "domain must be one of your own"),
        ("com.microsoft", {}, "domain must be one of your own"),
        ("test.own", {"inputs": {"x": "T"}}, "'T' must be in `types`"),
        ("test.own", {"types": {"T": ["flot"]}}, "float"),
    ],
)
def test_wrong_definitions_are_refused(domain: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(sx.InputError, match=why):
        sx.operator(domain, **options)(lambda x: x)


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S))
    script = tmp_path / "page.py"
    script.write_text(code)
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


def test_plugins_are_imported(tmp_path: Path) -> None:
    (tmp_path / "own_shift.py").write_text(
        "import sardonyx as sx\n"
        "@sx.operator('test.plugin', types={'T': ['float']}, inputs={'x': 'T'}, outputs={'y': 'T'}, infer='same')\n"
        "def Double(x):\n    return x * 2\n"
    )
    (tmp_path / "m.onnxtxt").write_text(
        '<ir_version: 10, opset_import: ["": 21, "test.plugin": 1]> g (float[2] x) => (float[2] y) { y = test.plugin.Double(x) }'
    )
    run = [sys.executable, "-m", "sardonyx", "run", "m.onnxtxt", "--random", "0"]
    done = subprocess.run(
        [*run, "--plugin", "own_shift"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [*run, "--plugin", "missing"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--plugin must be a module" in done.stderr
