"""Products whose rows threads divide: results are the same bits for any number of threads and rows, in bodies too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.packing.panels import choose_panel_tile
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.steps.step import RowGroups
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.runtime.limits.thread_pool import HAS_THREADS

WIDTH = 200  # of no whole number of panels
ROWS = [
    1,
    7,
    48,
    64,
    131,
    600,
]  # too few to divide, of no whole number of groups, and more than are computed together
THREADS = [2, 3, 4]


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def layer(b: sx.Builder, x: sx.Operand, seed: int) -> sx.Operand:
    """relu(x @ W + bias) @ V + x, normalized: products with row-aligned and with other neighbors."""
    w, v = (draw(WIDTH, WIDTH, seed=seed + i) / 14 for i in range(2))
    hidden = b.Relu(x @ w + draw(WIDTH, seed=seed + 2))
    mixed = b.Transpose(b.Softmax(b.Transpose(hidden, perm=[1, 0])), perm=[1, 0])  # over all rows
    total = hidden @ v + mixed + x
    return b.LayerNormalization(total, np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32))


def chain() -> sx.Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", WIDTH])
    for seed in range(4):
        x = layer(b, x, 10 * seed)
    return b.model(y=x)


def nested() -> sx.Model:
    """Layers in a Loop, and in both branches of an If in it."""
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", WIDTH])

    def body(i: sx.Operand, condition: sx.Operand, carried: sx.Operand) -> tuple[object, ...]:
        total = layer(b, carried, 1)
        return True, b.if_(i < 2, lambda: layer(b, total, 20), lambda: layer(b, total, 30))

    return b.model(y=b.loop(body, x, trip_count=4))


@pytest.mark.skipif(not HAS_THREADS, reason="a pool has one thread here")
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("build", [chain, nested])
def test_bits_do_not_depend_on_the_number_of_threads(build: Callable[[], sx.Model], threads: int) -> None:
    model = build()
    alone, divided = (sx.Session(model, engine="native", threads=n) for n in (1, threads))
    for rows in ROWS:
        feeds = {"x": draw(rows, WIDTH, seed=rows)}
        expected = alone.run(feeds)["y"]
        assert np.isfinite(expected).all()
        for _ in range(5):
            np.testing.assert_array_equal(divided.run(feeds)["y"], expected)


@pytest.mark.parametrize("rows", [5, 64, 131, 600])
def test_a_group_of_rows_is_half_a_register_tile(rows: int) -> None:
    target = host_target()
    groups = row_groups(chain(), target)
    assert len(groups) == 8
    half = (choose_panel_tile(WIDTH, target).rows + 1) // 2
    assert {evaluate(group.count, {"N": rows}) for group in groups} == {-(-rows // half)}
    assert all(isinstance(group.block, int) and group.block * half > 200 for group in groups)


@pytest.mark.parametrize(
    ("rows", "divides_rows"), [(1, False), (128, False), (341, False), (342, True), (2000, True)]
)
def test_threads_divide_the_columns_of_large_weights_for_few_rows(rows: int, *, divides_rows: bool) -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", 512])
    (group,) = row_groups(b.model(y=x @ draw(512, 1024)), host_target())
    assert bool(evaluate(group.count, {"N": rows})) == divides_rows


def test_products_of_several_matrices_have_no_row_groups() -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", [3, 128, 64])
    model = b.model(y=x @ draw(3, 64, 64))
    assert row_groups(model, host_target()) == []


def row_groups(model: sx.Model, target: Target) -> list[RowGroups]:
    """The row groups of the steps of a model that have any."""
    steps = compile_model(model, target, verify=True).program.steps
    return [step.row_groups for step in steps if step.row_groups is not None]
