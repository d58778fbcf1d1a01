"""precision="bf16" where products of bfloat16 are not faster than those of float32: weights are rounded, and read in 16 bits."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.test_matmul_kernel import draw
from models import parse_model
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import favors_bf16_products, has_bf16_products
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import has_amx_bf16
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model, Tensor

HOST = host_target()
INTEL = replace(HOST, vendor="GenuineIntel", features="+avx512f,+avx512bf16", lanes=16)
WITHOUT_FAST_PRODUCTS = pytest.mark.skipif(
    not has_bf16_products(HOST) or favors_bf16_products(HOST),
    reason="needs products of bfloat16 that are slower than those of float32",
)


def model_of(weights: Array, node: str) -> Model:
    k = weights.shape[0] if "transB" not in node else weights.shape[1]
    dims = ",".join(map(str, weights.shape))
    model = parse_model(
        f"g (float[M,{k}] x, float[{dims}] w) => (float[M,N] y) {{ y = {node} (x, w) }}", opset=21
    )
    value = model.graph.inputs[1]
    model.graph.remove_input(value)
    value.initializer = Tensor.of(weights)
    model.graph.add_initializer(value)
    return model


def test_products_of_bfloat16_pay_off_in_tiles_and_on_amd() -> None:
    assert not favors_bf16_products(INTEL) and has_bf16_products(INTEL)
    assert favors_bf16_products(replace(INTEL, vendor="AuthenticAMD"))
    with_tiles = replace(INTEL, features=f"{INTEL.features},+amx-tile,+amx-bf16")
    assert favors_bf16_products(with_tiles) == has_amx_bf16(with_tiles)
    assert not favors_bf16_products(replace(INTEL, vendor="AuthenticAMD", features="+avx512f"))


@WITHOUT_FAST_PRODUCTS
@pytest.mark.parametrize("rows", [1, 7, 40])
@pytest.mark.parametrize("node", ["MatMul", "Gemm", "Gemm <transB = 1>"])
def test_weights_are_rounded_and_rows_are_not(node: str, rows: int) -> None:
    x, w = draw(rows, 512), draw(512, 300, seed=2)
    stored = w.T.copy() if "transB" in node else w
    session = sx.Session(model_of(stored, node), engine="native", precision="bf16")
    expected = x.astype(np.float64) @ w.astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_allclose(np.asarray(session.run({"x": x})["y"]), expected, 1e-5, 1e-4)
    assert session.precision == "bf16" and session.stats.fallback_nodes == 0


@WITHOUT_FAST_PRODUCTS
def test_large_weights_stay_in_16_bits() -> None:
    model = model_of(draw(512, 300), "MatMul")
    (step,) = compile_model(model, HOST, precision="bf16").program.steps
    assert step.kernel.key.startswith("matmul_f32") and "b16" in step.kernel.key
