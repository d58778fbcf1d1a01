"""New states are computed right after what they depend on, and nothing else moves."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView
from sardonyx._src.compile.program.memory.early_updates import order_steps
from sardonyx._src.compile.program.operands.tensor import BufferRole
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model


def tensor(role: BufferRole, name: str, size: int = 5000) -> TensorView:
    return TensorView(DataType.FLOAT, (size,), (1,), Buffer(role, size * 4, name))


def step(name: str, reads: tuple[TensorView, ...], writes: tuple[TensorView, ...]) -> Step:
    count = sum(int(str(t.nbytes)) for t in (*reads, *writes))
    return Step(Kernel(name, lambda name, target: ""), (), 1, reads, writes, bytes_accessed=count)


def names(steps: list[Step]) -> list[str]:
    return [s.kernel.key for s in order_steps(steps) if isinstance(s, Step)]


def test_updates_follow_what_they_read() -> None:
    w, v = tensor("input", "w"), tensor("input", "v")
    new_w, new_v = tensor("output", "new w"), tensor("output", "new v")
    g, h = tensor("arena", "g"), tensor("arena", "h")
    steps = [
        step("g", (w,), (g,)),
        step("h", (v, g), (h,)),
        step("last", (h,), (tensor("output", "y"),)),
        step("update w", (w, g), (new_w,)),
        step("update v", (v, h), (new_v,)),
    ]
    assert names(steps) == ["g", "update w", "h", "update v", "last"]


def test_an_update_stays_behind_those_that_use_its_memory_and_small_steps_come_first() -> None:
    w, count = tensor("input", "w"), tensor("input", "count", 1)
    new_w, new_count = tensor("output", "new w"), tensor("output", "new count", 1)
    g, rate = tensor("arena", "g"), tensor("arena", "rate", 1)
    steps = [
        step("g", (w,), (g,)),
        step("uses output", (g,), (new_w,)),
        step("other", (g,), (tensor("arena", "h"),)),
        step("rate", (count,), (new_count, rate)),
        step("update", (w, g, rate), (new_w,)),
    ]
    assert names(steps) == ["rate", "g", "uses output", "update", "other"]


def test_outputs_that_are_no_states_do_not_move() -> None:
    x, g = tensor("input", "x"), tensor("arena", "g", 300)
    product = step("product", (x,), (tensor("output", "y"),))  # reads no result of another step
    wide = step("wide", (x, g), (tensor("output", "z", 600),))
    steps = [step("g", (x,), (g,)), step("other", (x,), (tensor("arena", "h"),)), product, wide]
    assert names(steps) == ["g", "other", "product", "wide"]


def training_step() -> Model:
    """Two layers, whose gradients are computed before both updates."""
    return parse_model(
        """g (float[4,64] x, float[64,64] a, float[64,64] b) => (float[64,64] c, float[64,64] d) {
          h = MatMul(x, a) y = MatMul(h, b)
          ht = Transpose(h) db = MatMul(ht, y) bt = Transpose(b) dh = MatMul(y, bt)
          xt = Transpose(x) da = MatMul(xt, dh)
          c = Sub(a, da) d0 = Mul(db, db) e = Sqrt(d0) d = Sub(b, e)
        }"""
    )


def test_steps_of_a_program_are_advanced_and_compute_the_same() -> None:
    model = training_step()
    program = compile_model(model, host_target(), verify=True).program
    writes = [t.buffer.name for s in program.steps for t in s.writes]
    assert writes.index("d") < writes.index("dh")  # the gradient of h comes after the update of b
    draw = np.random.default_rng(1)
    feeds = {name: draw.normal(size=size).astype(np.float32) for name, size in SIZES.items()}
    actual, expected = (sx.Session(model, engine=engine).run(feeds) for engine in ("native", "reference"))
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, 1e-4, 1e-3)


SIZES = {"x": (4, 64), "a": (64, 64), "b": (64, 64)}
