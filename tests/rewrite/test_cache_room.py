"""Caches with room have the results of caches that grow, whatever the room holds; what else reads a cache refuses the edit."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.rewrite.cache_room import PLACES, ROOM, add_cache_room
from sardonyx._src.runtime.session.session import Engine

CACHE = "float[B,2,P,3]"
GROWING = f"""g (float[B,2,S,3] q, float[B,2,S,3] x, {CACHE} past_k, {CACHE} past_v)
    => (float[B,2,S,3] y, float[B,2,T,3] k, float[B,2,T,3] v, int64[4] sizes, int64[n] count) {{
  k = Concat <axis = 2> (past_k, x)
  half = Neg(x)
  v = Concat <axis = -2> (past_v, half)
  columns = Transpose <perm = [0, 1, 3, 2]> (k)
  scores = MatMul(q, columns)
  shares = Softmax(scores)
  y = MatMul(shares, v)
  sizes = Shape(past_k)
  count = Shape <start = 2, end = -1> (past_v)
}}"""
# Models of one input `past` whose Concat is no cache that may have room.
REFUSED = {
    "other elements are read": "k = Concat <axis = 2> (past, x)  y = ReduceSum(past)",
    "the past is an output": "k = Concat <axis = 2> (past, x)  y = Identity(past)",
    "the past comes second": "k = Concat <axis = 2> (x, past)  y = Neg(x)",
    "three parts": "k = Concat <axis = 2> (past, x, x)  y = Neg(x)",
    "the past twice": "k = Concat <axis = 2> (past, past)  y = Neg(x)",
    "rows are added": "k = Concat <axis = 0> (past, x)  y = Neg(x)",
    "an axis of one size": "k = Concat <axis = 1> (past, x)  y = Neg(x)",
    "no Concat": "k = Max(past, x)  y = Neg(x)",
}


def drawn(batch: int, past: int, new: int) -> dict[str, Array]:
    draw = np.random.default_rng(past)
    sizes = {"q": new, "x": new, "past_k": past, "past_v": past}
    return {
        name: draw.standard_normal((batch, 2, size, 3)).astype(np.float32) for name, size in sizes.items()
    }


def with_room(feeds: dict[str, Array], room: int) -> dict[str, Array]:
    """The feeds of the edited model, whose caches have `room` entries, with numbers that no result may depend on."""
    feeds = dict(feeds)
    feeds[PLACES] = np.zeros(feeds["past_k"].shape[2], np.bool_)
    for name in ("past_k", "past_v"):
        past = feeds[name]
        feeds[name] = np.full((*past.shape[:2], room, 3), np.nan, np.float32)
        feeds[name][:, :, : past.shape[2]] = past
    return feeds


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_results_are_those_of_caches_that_grow(engine: Engine) -> None:
    model = parse_model(GROWING, opset=18)
    edited = add_cache_room(model)
    plain, roomy = (sx.Session(m, engine=engine, threads=1, shapes="off") for m in (model, edited))
    for past, new, room in ((0, 3, 8), (3, 1, 8), (4, 2, 8), (6, 2, 8), (5, 1, 6)):
        feeds = drawn(2, past, new)
        expected, results = plain.run(feeds), roomy.run(with_room(feeds, room))
        for name in ("y", "sizes", "count"):
            np.testing.assert_array_equal(results[name], expected[name])
        for name in "kv":
            assert results[name].shape[2] == room
            np.testing.assert_array_equal(results[name][:, :, : past + new], expected[name])


def test_a_cache_without_room_for_new_entries_is_an_error() -> None:
    session = sx.Session(add_cache_room(parse_model(GROWING, opset=18)), shapes="off", threads=1)
    for _ in range(3):
        with pytest.raises(sx.EvaluationError):
            session.run(with_room(drawn(1, 4, 2), 5))


def test_a_mask_has_the_size_of_the_entries() -> None:
    """It is proved to be no other size that broadcasts, so that attention is one kernel."""
    mask = """before = Shape <start = 2, end = 3> (past_k)  new = Shape <start = 2, end = 3> (x)
      total = Add(before, new)  mask = Expand(c, total)  scaled = Mul(scores, c)  masked = Add(scaled, mask)"""
    text = GROWING.replace("shares = Softmax(scores)", f"{mask}  shares = Softmax(masked)")
    model = parse_model(text.replace("count) {", "count) <float c = {0.5}> {"), opset=18)
    for each in (model, add_cache_room(model)):
        keys = [step.kernel.key for step in compile_model(each, host_target()).program.steps]
        assert any(key.startswith("attention") for key in keys)


def test_the_edit_changes_a_copy() -> None:
    model = parse_model(GROWING, opset=18)
    edited = add_cache_room(model)
    assert [node.op_type for node in model.graph.nodes].count("Concat") == 2
    assert [value.name for value in edited.graph.outputs] == [value.name for value in model.graph.outputs]
    assert [value.name for value in edited.graph.inputs] == ["q", "x", "past_k", "past_v", PLACES]
    shapes = [value.type.shape for value in edited.graph.inputs if isinstance(value.type, TensorType)]
    assert [[*map(str, shape or ())] for shape in shapes[2:]] == [["B", "2", ROOM, "3"]] * 2 + [["P"]]
    assert add_cache_room(edited) is edited


@pytest.mark.parametrize("why", REFUSED)
def test_other_models_stay(why: str) -> None:
    model = parse_model(
        f"g ({CACHE} past, float[B,2,S,3] x) => (float[B,2,T,3] k, float[n] y) {{ {REFUSED[why]} }}"
    )
    assert add_cache_room(model) is model


@pytest.mark.parametrize(("second", "count"), [("P", 2), ("R", 0), ("5", 1)])
def test_caches_have_equally_many_entries(second: str, count: int) -> None:
    """A cache of one size does not grow."""
    model = parse_model(
        f"g ({CACHE} a, float[B,2,{second},3] b, float[B,2,S,3] x) => (float[B,2,T,3] c, float[B,2,U,3] d) "
        "{ c = Concat <axis = 2> (a, x)  d = Concat <axis = 2> (b, x) }"
    )
    edited = add_cache_room(model)
    assert [node.op_type for node in edited.graph.nodes].count("Insert2") == count
    assert (edited is model) == (count == 0)
