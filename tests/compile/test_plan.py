"""The arena: storages that are needed at the same time lie apart, and those that can lie in one place do."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from models import record
from sardonyx._src.compile.plan import LINE, Interval, Plan, packed, planned, shared
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.step import Jump, Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, symbol
from sardonyx._src.ir.graph import Graph, Model
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.native import NativeProgram

NOTHING = Kernel("nothing", lambda name, target: "")
STATUS = Tensor(DataType.INT64, (1,), (1,), Storage("status", 8, "status"))


def tensor(name: str, *shape: Known, role: str = "arena", dtype: DataType = DataType.FLOAT) -> Tensor:
    size: Known = 4
    for dim in shape:
        size = size * dim
    storage = Storage("arena" if role == "arena" else "input", size, name)
    return Tensor(dtype, shape, row_major(shape), storage)


def step(reads: list[Tensor], *writes: Tensor, in_place: bool = True) -> Step:
    return Step(NOTHING, (*reads, *writes), 1, tuple(reads), writes, in_place=in_place)


def plan(*steps: Step, sizes: tuple[str, ...] = ()) -> Plan:
    program = Program(
        Model(Graph(), ir_version=10, opset_imports={}),
        list(steps),
        {name: (name, 0) for name in sizes},
        {},
        {},
        STATUS,
    )
    return planned(program)


def place(found: Plan, one: Tensor) -> int:
    return found.offsets[one.storage] if found.offsets else found.slot_of[one.storage]


X = tensor("x", 2, 3, role="input")


def chain(*, in_place: bool = True, more: bool = False) -> tuple[Plan, list[Tensor]]:
    """x -> a -> b -> c, and maybe a reader of `a` at the end."""
    a, b, c = (tensor(name, 2, 3) for name in "abc")
    steps = [step([X], a), step([a], b, in_place=in_place), step([b], c, in_place=in_place)]
    if more:
        steps.append(step([a], tensor("d", 2, 3)))
    return plan(*steps), [a, b, c]


def test_steps_write_in_the_place_of_what_they_read_for_the_last_time() -> None:
    found, (a, b, c) = chain()
    assert place(found, a) == place(found, b) == place(found, c)
    assert found.size == LINE
    assert len(found.holdings) == 1
    assert len(found.intervals) == 3


def test_steps_that_may_not_write_in_place_write_elsewhere() -> None:
    found, (a, b, c) = chain(in_place=False)
    assert place(found, a) != place(found, b) != place(found, c)


def test_what_is_read_again_keeps_its_place() -> None:
    found, (a, b, _) = chain(more=True)
    assert place(found, a) != place(found, b)


@pytest.mark.parametrize(
    "made",
    [
        tensor("y", 3, 2),
        tensor("y", 2, 3, dtype=DataType.DOUBLE),
        tensor("y", 2, 4),
        replace(tensor("y", 2, 3), strides=(1, 2)),
        replace(tensor("y", 2, 3), offset=1),
    ],
)
def test_tensors_that_lie_otherwise_have_places_of_their_own(made: Tensor) -> None:
    a = tensor("a", 2, 3)
    found = plan(step([X], a), step([a], made))
    assert place(found, a) != place(found, made)


def test_a_storage_that_is_read_in_two_ways_is_not_written_over() -> None:
    a, y = tensor("a", 3, 3), tensor("y", 3, 3)
    turned = replace(a, strides=(1, 3))
    found = plan(step([X], a), step([a, turned], y))
    assert place(found, a) != place(found, y)


def test_a_storage_that_is_begun_already_is_not_moved() -> None:
    a, y = tensor("a", 2, 3), tensor("y", 2, 3)
    found = plan(step([X], a), step([X], y, in_place=False), step([a], y))
    assert place(found, a) != place(found, y)


def test_sizes_that_depend_on_inputs_share_slots_in_place() -> None:
    n = symbol("n")
    a, b, c = (tensor(name, n, 3) for name in "abc")
    found = plan(step([X], a), step([a], b), step([X, b], c, in_place=False), sizes=("n",))
    assert place(found, a) == place(found, b) != place(found, c)
    assert len(found.slots) == 2


def test_what_a_loop_reads_is_kept_until_its_end() -> None:
    """Else the second turn would find something else in its place."""
    a, b, c, d, flag = (tensor(name, 2, 3) for name in ("a", "b", "c", "d", "flag"))
    back = Step(NOTHING, (), 1, (), (flag,), jump=Jump(flag, -3))
    body = [step([a], b), step([b], c, in_place=False), step([c], d, in_place=False)]
    once = plan(step([X], a), step([X], flag), *body)
    again = plan(step([X], a), step([X], flag), *body, back)
    assert place(once, a) == place(once, b)
    assert place(again, a) not in {place(again, one) for one in (b, c, d, flag)}
    assert place(again, b) == place(again, d)


def test_what_an_inner_loop_reads_is_kept_until_the_end_of_the_outer_one() -> None:
    a, b, c, flag = (tensor(name, 2, 3) for name in ("a", "b", "c", "flag"))
    back = [Step(NOTHING, (), 1, (), (flag,), jump=Jump(flag, -n)) for n in (1, 3)]
    found = plan(step([X], a), step([X], flag), step([a], b, in_place=False), back[0], step([X], c), back[1])
    assert place(found, a) != place(found, c)
    life = {one.storage: one for one in found.intervals}
    assert life[a.storage].last == life[flag.storage].last == 5
    assert life[b.storage].last == 2


def overlaps(a: Interval, b: Interval) -> bool:
    return a.first <= b.last and b.first <= a.last


@pytest.mark.parametrize("seed", range(20))
def test_storages_that_live_together_lie_apart(seed: int) -> None:
    chance = random.Random(seed)
    lives = []
    for i in range(40):
        first, size = chance.randrange(30), chance.choice([0, 1, 64, 100, 4096])
        lives.append(Interval(Storage("arena", size, str(i)), first, first + chance.randrange(8), size))
    offsets, total = packed(lives)
    _, slots = shared(sorted(lives, key=lambda one: one.first))
    for i, a in enumerate(lives):
        start, end = offsets[a.storage], offsets[a.storage] + a.size
        assert start % LINE == 0
        assert end <= total
        for b in lives[i + 1 :]:
            if overlaps(a, b):
                other = offsets[b.storage]
                assert end <= other or other + b.size <= start or not a.size or not b.size
                assert slots[a.storage] != slots[b.storage]


def native(text: str) -> tuple[sx.Session, NativeProgram]:
    found = sx.Session(record(text), engine="native", threads=1)
    assert isinstance(found._runner, NativeEngine)
    return found, found._runner.native


def test_a_network_computes_in_place_what_it_computes() -> None:
    text = """g (float[N,96] x, float[96] w) => (float[N,96] y) {
  a = Softmax(x)  b = Mul(a, w)  c = Softmax(b)  d = Exp(c)  e = Softmax(d)  f = Add(e, c)  y = Softmax(f) }"""
    found, inside = native(text)
    assert len(inside.plan.holdings) <= len(inside.plan.intervals)
    draw = np.random.default_rng(1)
    fed = {"x": draw.standard_normal((50, 96), np.float32), "w": draw.standard_normal(96, np.float32)}
    wanted = sx.Session(record(text), engine="reference").run(fed)["y"]
    for _ in range(3):  # softmax, exp: each right to some units in the last place
        np.testing.assert_allclose(found.run(fed)["y"], wanted, rtol=2e-6)  # type: ignore[arg-type]


def test_an_arena_grows_by_half_at_least() -> None:
    found, inside = native(
        "g (float[N,8] x) => (float[N,8] y) { a = Softmax(x)  b = Sin(a)  y = Softmax(b) }"
    )
    sizes = set()
    for rows in range(1000, 3000, 20):
        found.run({"x": np.zeros((rows, 8), np.float32)})
        sizes.add(inside.idle[0].arena.size)
    assert len(sizes) <= 4
