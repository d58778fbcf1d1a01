"""Iterations of a Scan use the slices of its inputs and outputs in place, with the results of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded_programs import run_guarded
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model

SHAPES = {"x": (70, 66, 5), "z": (70, 66, 5), "h": (66, 5), "wide": (66, 70, 5)}
STEP = "s = Add(a, p) t = Mul(s, p) n = Tanh(t)"


def scan_model(body: str, results: str, attributes: str = "", x: str = "x", outputs: str = "y") -> Model:
    """A Scan over x with the state h: `results` are the outputs of its body."""
    dims = {"y": "[70,66,5]", "y2": "[70,66,5]", "last": "[66,5]", "across": "[66,70,5]"}
    declared = ", ".join(f"float{dims[name]} {name}" for name in outputs.split(", "))
    source = f"float{list(SHAPES[x])} {x}"
    return parse_model(
        f"""g (float[66,5] h, {source}) => ({declared}) {{
          {outputs} = Scan (h, {x}) <num_scan_inputs = 1 {attributes},
            body = b (float[66,5] a, float[66,5] p) => ({results}) {{ {body} }}>
        }}""",
        opset=21,
    )


CASES = {
    "state and result": scan_model(STEP, "float[66,5] n, float[66,5] t", outputs="last, y"),
    "backward": scan_model(
        STEP,
        "float[66,5] n, float[66,5] t",
        ", scan_input_directions = [1], scan_output_directions = [1]",
        outputs="last, y",
    ),
    "a result that is returned twice": scan_model(
        f"{STEP} u = Identity(t)", "float[66,5] n, float[66,5] t, float[66,5] u", outputs="last, y, y2"
    ),
    "a state before and after an iteration": scan_model(
        f"{STEP} u = Identity(a) v = Identity(n)",
        "float[66,5] n, float[66,5] u, float[66,5] v",
        outputs="last, y, y2",
    ),
    "a slice that is returned": scan_model(
        f"{STEP} u = Identity(p)", "float[66,5] n, float[66,5] u, float[66,5] t", outputs="last, y, y2"
    ),
    "a state that is a slice": scan_model(
        "n = Identity(p) t = Mul(a, p)", "float[66,5] n, float[66,5] t", outputs="last, y"
    ),
    "strided slices": scan_model(
        STEP,
        "float[66,5] n, float[66,5] t",
        ", scan_input_axes = [1], scan_output_axes = [1]",
        "wide",
        "last, across",
    ),
    "a scan in a scan": parse_model(
        """g (float[66,5] h, float[70,66,5] x) => (float[66,5] last, float[70,66,5] y) {
          last, y = Scan (h, x) <num_scan_inputs = 1,
            body = b (float[66,5] a, float[66,5] p) => (float[66,5] n, float[66,5] t) {
              e = Constant<value = float[5] {1, 2, 3, 4, 5}>()
              l, t = Scan (e, p) <num_scan_inputs = 1,
                body = c (float[5] d, float[5] q) => (float[5] f, float[5] r) { f = Add(d, q) r = Exp(f) }>
              s = Add(a, t) n = Tanh(s)
            }>
        }""",
        opset=21,
    ),
}


def feeds_of(model: Model) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    return {v.name: rng.normal(size=SHAPES[v.name]).astype(np.float32) for v in model.graph.inputs}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_reference_engine(name: str) -> None:
    model = CASES[name]
    feeds = feeds_of(model)
    expected = sx.Session(model, engine="reference").run(feeds)
    for threads in (1, 2):
        session = sx.Session(model, engine="native", threads=threads)
        assert session.stats.fallback_nodes == 0
        for _ in range(2):  # argument slots that a run has changed serve the next one
            actual = session.run(feeds)
            for key, array in expected.items():
                np.testing.assert_allclose(actual[key], array, 1e-5, 1e-5)


@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_kernels_stay_inside_of_their_operands(name: str, *, checks: bool) -> None:
    model = CASES[name]
    feeds = feeds_of(model)
    executable = compile_model(model, host_target(), verify=True)
    expected = sx.Session(model, engine="reference").run(feeds)
    actual = run_guarded(executable, feeds, at_end=True, seed=1, checks=checks)
    assert actual is not None
    for key, array in expected.items():
        np.testing.assert_allclose(actual[key], array, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("name", "copies"),
    [
        ("state and result", 0),
        ("backward", 0),
        ("a result that is returned twice", 0),
        ("a state before and after an iteration", 1),
        ("strided slices", 2),
        ("a scan in a scan", 0),
    ],
)
def test_slices_are_copied_only_where_they_must_be(name: str, copies: int) -> None:
    keys = [step.kernel.key for step in compile_model(CASES[name], host_target()).program.steps]
    assert sum(key.startswith("pick") for key in keys) == copies, keys
    assert ("move_slices" in keys) == (name != "strided slices")
