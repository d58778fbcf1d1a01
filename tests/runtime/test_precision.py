"""Sessions whose products round their factors to bfloat16: results, the record of it, caches, saved programs, refusals."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import favors_bf16_products, has_bf16_products
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.programs import precision as precision_module

needs_bf16 = pytest.mark.skipif(
    not has_bf16_products(host_target()), reason="the processor has no products of bfloat16"
)
X = np.random.default_rng(0).standard_normal((3, 64), np.float32)
W = np.random.default_rng(1).standard_normal((64, 8), np.float32)
IMAGE = np.random.default_rng(2).standard_normal((1, 3, 9, 8), np.float32)
KERNEL = np.random.default_rng(3).standard_normal((4, 3, 3, 3), np.float32)


def product() -> Model:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, ["N", 64])
    return b.model(y=b.Relu(b.MatMul(x, W)))


def gemm() -> Model:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, ["N", 64])
    return b.model(y=b.Gemm(x, W.T.copy(), np.zeros(8, np.float32), transB=1))


def branch() -> Model:
    weights = ", ".join(map(str, W.ravel()))
    then = "t () => (float[N,8] a) { a = MatMul(x, w) }"
    text = f"y = If(c) <then_branch = {then}, else_branch = e () => (float[N,8] b) {{ b = MatMul(x, w) }}>"
    header = f"g (float[N,64] x, bool c) => (float[N,8] y) <float[64,8] w = {{{weights}}}>"
    return parse_model(f"{header} {{ {text} }}")


def convolution() -> Model:
    b = sx.Builder(opset=21)
    x = b.input("x", sx.DataType.FLOAT, [1, 3, 9, 8])
    return b.model(y=b.Conv(x, KERNEL, pads=[1, 1, 1, 1]))


@needs_bf16
@pytest.mark.parametrize(
    ("make", "feeds"),
    [
        (product, {"x": X}),
        (gemm, {"x": X}),
        (branch, {"x": X, "c": np.array(True)}),
        (convolution, {"x": IMAGE}),
    ],
)
def test_products_by_weights_are_rounded(make: Callable[[], Model], feeds: dict[str, Array]) -> None:
    model = make()
    exact = sx.Session(model, engine="reference").run(feeds)["y"]
    session = sx.Session(model, engine="native", precision="bf16")
    rounded = session.run(feeds)["y"]
    assert not np.array_equal(exact, rounded)
    np.testing.assert_allclose(rounded, exact, rtol=0, atol=2**-7 * 64)
    assert session.precision == session.stats.precision == "bf16"
    assert session.stats.fallback_nodes == 0
    assert "precision bf16" in repr(session)


def test_float32_is_the_default() -> None:
    session = sx.Session(product(), engine="native")
    np.testing.assert_allclose(session.run({"x": X})["y"], np.maximum(X @ W, 0), rtol=1e-4, atol=1e-5)
    assert session.precision == "float32"
    assert "precision" not in repr(session)


@needs_bf16
def test_programs_of_both_precisions_are_shared_and_cached_apart(tmp_path: Path) -> None:
    sx.save(product(), tmp_path / "m.onnx")
    for _ in range(2):
        results = {
            precision: sx.Session(tmp_path / "m.onnx", engine="native", precision=precision).run({"x": X})[
                "y"
            ]
            for precision in ("float32", "bf16", "float32")
        }
        assert not np.array_equal(results["float32"], results["bf16"])
    in_memory = product()
    sessions = [sx.Session(in_memory, engine="native", precision=p) for p in ("bf16", "float32")]
    assert [session.precision for session in sessions] == ["bf16", "float32"]


@needs_bf16
def test_saved_programs_state_their_precision(tmp_path: Path) -> None:
    path = sx.tools.compile(product(), tmp_path / "m.sdx", precision="bf16")
    expected = sx.Session(product(), engine="native", precision="bf16").run({"x": X})["y"]
    for session in (sx.Session(path), sx.Session(path, precision="bf16")):
        assert session.precision == "bf16"
        np.testing.assert_array_equal(session.run({"x": X})["y"], expected)
    sx.tools.compile(product(), tmp_path / "exact.sdx")
    with pytest.raises(
        sx.errors.SardonyxError, match=r"must be compiled with precision='bf16'; got .*'float32'"
    ):
        sx.Session(tmp_path / "exact.sdx", precision="bf16")


@needs_bf16
def test_pickled_sessions_keep_their_precision() -> None:
    session = pickle.loads(pickle.dumps(sx.Session(product(), engine="native", precision="bf16")))
    assert session.precision == "bf16"


@needs_bf16
def test_results_are_equal_for_any_number_of_threads() -> None:
    x = np.random.default_rng(4).standard_normal((200, 64), np.float32)
    results = [
        sx.Session(product(), engine="native", precision="bf16", threads=n).run({"x": x})["y"] for n in (1, 2)
    ]
    np.testing.assert_array_equal(results[0], results[1])


def test_processors_without_such_products_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(precision_module, "has_bf16_products", lambda target: False)
    with pytest.raises(
        sx.errors.UnsupportedProcessor, match="requires a processor with products of bfloat16"
    ) as caught:
        sx.Session(product(), precision="bf16")
    assert caught.value.features == ("avx512_bf16",)
    with pytest.raises(sx.errors.UnsupportedProcessor):
        sx.tools.compile(product(), tmp_path / "m.sdx", precision="bf16")
    with pytest.raises(sx.errors.UnsupportedProcessor):
        sx.tools.profile(product(), {"x": X}, precision="bf16")


def test_the_reference_engine_has_no_other_precision() -> None:
    with pytest.raises(sx.errors.SardonyxError, match='precision="bf16" requires the native engine'):
        sx.Session(product(), engine="reference", precision="bf16")


def test_unknown_precisions_are_refused() -> None:
    with pytest.raises(sx.errors.InputError, match="precision"):
        sx.Session(product(), precision="fp8")  # type: ignore[arg-type]


@needs_bf16
def test_verbs_take_a_precision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = str(tmp_path / "m.onnx"), str(tmp_path / "m.sdx")
    sx.save(product(), path)
    np.save(tmp_path / "x.npy", X)
    options = ["--precision", "bf16"]
    assert main(["compile", path, "-o", out, *options]) == 0
    assert sx.Session(out).precision == "bf16"
    assert main(["run", path, f"x={tmp_path / 'x.npy'}", "-o", str(tmp_path / "y.npz"), *options]) == 0
    expected = sx.Session(path, engine="native", precision="bf16").run({"x": X})["y"]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], expected)
    capsys.readouterr()
    assert main(["run", path, "--show", "kernels", *options]) == 0
    kernel = "matmul_bf16" if favors_bf16_products(host_target()) else "matmul_f32"
    assert kernel in capsys.readouterr().out
    assert main(["bench", path, "--turns", "1", "--threads", "1", *options]) == 0
