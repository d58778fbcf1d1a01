"""Adagrad, Adam and Momentum run as elementwise kernels, with the results of the reference kernels."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

STATES = {"Adagrad": "v", "Adam": "vh", "Momentum": "v"}
OPTIONS = [
    ("Adagrad", "decay_factor = 0.1, epsilon = 0.001, norm_coefficient = 0.01"),
    ("Adagrad", ""),
    (
        "Adam",
        "alpha = 0.95, beta = 0.1, epsilon = 0.01, norm_coefficient = 0.02, norm_coefficient_post = 0.3",
    ),
    ("Adam", "alpha = 0.0, beta = 0.0"),
    ("Adam", ""),
    ("Momentum", 'alpha = 0.95, beta = 0.1, mode = "standard", norm_coefficient = 0.001'),
    ("Momentum", 'alpha = 0.9, beta = 1.5, mode = "nesterov", norm_coefficient = 0.0'),
]


def optimizer_model(op: str, attributes: str, dtypes: list[str], dims: list[str], rate: str) -> sx.Model:
    kinds = "xg" + STATES[op]

    def values(names: str, prefix: str = "") -> list[tuple[str, str]]:
        shapes = list(enumerate(zip(dtypes, dims, strict=True)))
        return [
            (f"{dtype}[{d}]" if d else dtype, f"{prefix}{name}{i}")
            for name in names
            for i, (dtype, d) in shapes
        ]

    inputs, outputs = values(kinds), values("x" + STATES[op], "new_")
    return parse_model(
        f"g ({rate} r, int64 t, {', '.join(map(' '.join, inputs))}) => ({', '.join(map(' '.join, outputs))}) {{ "
        f"{', '.join(name for _, name in outputs)} = ai.onnx.preview.training.{op} "
        f"{f'<{attributes}>' if attributes else ''} (r, t, {', '.join(name for _, name in inputs)}) }}",
        more='"ai.onnx.preview.training": 1',
    )


def assert_native_steps(model: sx.Model, *feeds: dict[str, Array]) -> None:
    """Asserts that one and two threads give the results of the reference engine, without fallback operations."""
    reference = sx.Session(model, engine="reference")
    for threads in (1, 2):
        session = sx.Session(model, engine="native", threads=threads)
        assert session.stats.fallback_nodes == 0
        for feed in feeds:
            expected = reference.run(feed)
            for name, actual in session.run(feed).items():
                array = np.asarray(expected[name])
                assert array.dtype == np.asarray(actual).dtype
                np.testing.assert_allclose(actual, array, rtol=2e-6 if array.dtype == np.float32 else 1e-12)
        assert not session.stats.bailouts


@pytest.mark.parametrize(("op", "attributes"), OPTIONS)
@pytest.mark.parametrize("rate", ["float", "double[1]"])
def test_steps(op: str, attributes: str, rate: str) -> None:
    model = optimizer_model(op, attributes, ["float", "double", "float"], ["N,3", "17", ""], rate)
    draw, feeds = np.random.default_rng(3), []
    for t, n in ((0, 5), (1, 5), (-3, 1), (7, 0), (1000, 21), ((1 << 63) - 1, 2)):
        shapes = {"0": ((n, 3), "float32"), "1": ((17,), "float64"), "2": ((), "float32")}
        feed = {
            f"{kind}{i}": np.asarray(draw.uniform(0.01, 2, shape)).astype(dtype)
            for kind in "xg" + STATES[op]
            for i, (shape, dtype) in shapes.items()
        }
        r = np.array([0.1]) if rate == "double[1]" else np.float32(0.1)
        feeds.append({**feed, "r": np.asarray(r), "t": np.asarray(np.int64(t))})
    assert_native_steps(model, *feeds)


@pytest.mark.parametrize("op", STATES)
def test_special_values(op: str) -> None:
    attributes = (
        'alpha = 0.9, beta = 1.0, mode = "nesterov", norm_coefficient = 0.0' if op == "Momentum" else ""
    )
    model = optimizer_model(op, attributes, ["float"], ["6"], "float")
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e38], np.float32)
    kinds = "xg" + STATES[op]
    base = {f"{kind}0": np.full(6, 0.5, np.float32) for kind in kinds}
    base |= {"r": np.array(0.1, np.float32), "t": np.array(2)}
    with np.errstate(all="ignore"):
        for kind in kinds:
            assert_native_steps(
                model, base | {f"{kind}0": np.asarray(abs(special) if kind in "vh" else special)}
            )


def test_growing_means_stay_reference_kernels() -> None:
    model = optimizer_model("Adam", "alpha = 1.5", ["float"], ["3"], "float")
    assert sx.Session(model, engine="native").stats.fallback_nodes == 1


def test_one_tensor_is_one_kernel() -> None:
    from sardonyx._src.compile.llvm.jit import host_target
    from sardonyx._src.compile.pipeline import compile_model

    model = optimizer_model("Momentum", OPTIONS[-1][1], ["float"], ["N"], "float")
    steps = compile_model(model, host_target()).program.steps
    assert len([step for step in steps if step.units != 1]) == 1
