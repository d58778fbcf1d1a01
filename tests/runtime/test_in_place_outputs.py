"""Outputs in the memory of feeds: only what is new is written where that is proved, and results are those of a run that copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.steps.step import Jump
from sardonyx._src.compile.program.verification.in_place_outputs import find_in_place_outputs
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.rewrite.cache_room import PLACES, add_cache_room
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.results.output_arrays import OutputMemory
from sardonyx._src.runtime.saved_programs.writing import save_compiled
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.runtime.verification.modes import Verify

VENDOR = '"com.microsoft" : 1'
TYPES = "float[B,2,C,3] past, float[B,2,S,3] new, int64[B] starts"
UPDATE = "TensorScatter <axis = 2> (past, new, starts)"
STANDARD = f"g ({TYPES}) => (float[B,2,S,3] y, float[B,2,C,3] present) {{ present = {UPDATE} y = Neg(new) }}"
GROUPED = """g (float[B,S,8] q, float[B,S,8] k, float[B,S,8] v, float[B,2,P,4] past_k, float[B,2,P,4] past_v, int32[B] last,
    int32 total) => (float[B,S,8] y, float[B,2,T,4] present_k, float[B,2,T,4] present_v) {
    y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2>
        (q, k, v, past_k, past_v, last, total) }"""
GROWING = """g (float[B,2,S,4] q, float[B,2,S,4] k, float[B,2,S,4] v, float[B,2,P,4] past_k, float[B,2,P,4] past_v)
    => (float[B,2,S,4] y, float[B,2,T,4] present_k, float[B,2,T,4] present_v) {
    present_k = Concat <axis = 2> (past_k, k) present_v = Concat <axis = 2> (past_v, v)
    y = Attention <is_causal = 0> (q, present_k, present_v) }"""
# Models whose output replaces elements of the input `past`, but which also read what is replaced, or write it otherwise.
REFUSED = {
    "an output is computed from the old elements": f"""g ({TYPES}) => (float[B,2,C,3] y, float[B,2,C,3] present)
        {{ present = {UPDATE} y = Neg(past) }}""",
    "an output is the old elements": f"""g ({TYPES}) => (float[B,2,C,3] y, float[B,2,C,3] present)
        {{ present = {UPDATE} y = Identity(past) }}""",
    "the new elements are computed from the old ones": f"""g ({TYPES}) => (float[B,2,C,3] present)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] axis = {{2}}>
        {{ old = Slice(past, zero, one, axis) more = Add(new, old)
           present = TensorScatter <axis = 2> (past, more, starts) }}""",
    "the positions are computed from the old elements": f"""g ({TYPES}) => (float[B,2,C,3] present)
        <int64[3] axes = {{1, 2, 3}}>
        {{ sum = ReduceSum <keepdims = 0> (past, axes) zero = Sub(sum, sum) whole = Cast <to = 7> (zero)
           places = Add(whole, starts) present = TensorScatter <axis = 2> (past, new, places) }}""",
    "elements are added to the old ones": """g (float[4,3] past, int64[2,3] i, float[2,3] new) => (float[4,3] present)
        { present = ScatterElements <axis = 0, reduction = "add"> (past, i, new) }""",
    "all elements are computed from the old ones": f"g ({TYPES}) => (float[B,2,C,3] present) {{ present = Neg(past) }}",
    "elements are read between two updates": f"""g ({TYPES}) => (float[B,2,C,3] y, float[B,2,C,3] present)
        {{ first = {UPDATE} y = Neg(first) present = TensorScatter <axis = 2> (first, new, zero) }}""".replace(
        "{ first", "<int64[1] zero = {0}> { first"
    ),
    "a loop updates it": f"""g ({TYPES}, int64 count) => (float[B,2,C,3] present) {{
        present = Loop <body = b (int64 i, bool c, float[B,2,C,3] state) => (bool d, float[B,2,C,3] next)
            {{ d = Identity(c) next = TensorScatter <axis = 2> (state, new, starts) }}> (count, , past) }}""",
}


def in_place(session: sx.Session) -> dict[str, str]:
    """The inputs in whose memory outputs may be written, by output."""
    assert isinstance(session._runner, NativeEngine)
    return dict(session._runner.native.program.in_place)


def scatter_feeds(start: int = 2, new: int = 2, room: int = 7) -> dict[str, Array]:
    draw = np.random.default_rng(start)
    past, added = (draw.standard_normal((2, 2, n, 3)).astype(np.float32) for n in (room, new))
    return {"past": past, "new": added, "starts": np.array([start, start - 1])}


def copies(feeds: dict[str, Array]) -> dict[str, Array]:
    return {name: value.copy() for name, value in feeds.items()}


def grouped_feeds(length: int, new: int, room: int) -> dict[str, Array]:
    """The feeds after `length` tokens, of caches with `room` entries."""
    draw = np.random.default_rng(length)
    feeds: dict[str, Array] = {n: draw.standard_normal((1, new, 8)).astype(np.float32) for n in "qkv"}
    for name in ("past_k", "past_v"):
        cache = np.zeros((1, 2, room, 4), np.float32)
        cache[:, :, :length] = draw.standard_normal((1, 2, length, 4))
        feeds[name] = cache
    feeds["last"] = np.array([length + new - 1], np.int32)
    feeds["total"] = np.array(length + new, np.int32)
    return feeds


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_update_in_place_is_the_update_of_a_copy(engine: Engine) -> None:
    session = sx.Session(parse_model(STANDARD, opset=24), engine=engine, threads=1)
    for start in range(1, 6):
        feeds = scatter_feeds(start)
        expected = feeds["past"].copy()
        for row, first in enumerate(feeds["starts"]):
            expected[row, :, first : first + 2] = feeds["new"][row]
        results = session.run(feeds, out={"present": feeds["past"]})
        assert results["present"] is feeds["past"]
        np.testing.assert_array_equal(feeds["past"], expected)
        np.testing.assert_array_equal(results["y"], -feeds["new"])


def test_only_new_elements_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is no copy: the array that native code gets is the fed one."""
    session = sx.Session(parse_model(STANDARD, opset=24), engine="native", threads=1)
    assert in_place(session) == {"present": "past"}
    written: list[Array] = []
    place = OutputMemory.place

    def watched(memory: OutputMemory, *args: object) -> list[Array]:
        written[:] = place(memory, *args)  # type: ignore[arg-type]
        return written

    monkeypatch.setattr(OutputMemory, "place", watched)
    for room in (7, 7, 7, 9):
        feeds = scatter_feeds(room=room)
        session.run(feeds, out={"present": feeds["past"]})
    assert session.stats.fast_path_runs == 2
    assert written[1] is feeds["past"]


@pytest.mark.parametrize("threads", [1, 2])
def test_grouped_attention_writes_into_a_cache_with_room(threads: int) -> None:
    model = parse_model(GROUPED, more=VENDOR)
    session, reference = sx.Session(model, engine="native", threads=threads), Interpreter(model)
    assert in_place(session) == {"present_k": "past_k", "present_v": "past_v"}
    for length, new, room in ((0, 5, 16), (5, 1, 16), (6, 1, 16), (7, 2, 16), (9, 7, 16), (16, 1, 300)):
        feeds = grouped_feeds(length, new, room)
        copied, expected = session.run(copies(feeds)), reference.run(copies(feeds))
        results = session.run(feeds, out={f"present_{n}": feeds[f"past_{n}"] for n in "kv"})
        for name, value in copied.items():
            np.testing.assert_array_equal(results[name], value)
            np.testing.assert_allclose(results[name], np.asarray(expected[name]), 1e-4, 1e-5)
    assert session.stats.fast_path_runs == 2 * 6 - 2


def growing_feeds(length: int, new: int, room: int) -> dict[str, Array]:
    """The feeds of `GROWING` with room, after `length` tokens."""
    draw = np.random.default_rng(length)
    feeds: dict[str, Array] = {n: draw.standard_normal((1, 2, new, 4)).astype(np.float32) for n in "qkv"}
    for name in ("past_k", "past_v"):
        feeds[name] = draw.standard_normal((1, 2, room, 4)).astype(np.float32)
    return {**feeds, PLACES: np.zeros(length, np.bool_)}


@pytest.mark.parametrize("verify", ["off", "every"])
@pytest.mark.parametrize("threads", [1, 2])
def test_caches_of_concat_are_written_in_place(threads: int, verify: Verify) -> None:
    model = parse_model(GROWING, opset=23)
    session = sx.Session(add_cache_room(model), engine="native", threads=threads, verify=verify, shapes="off")
    plain = sx.Session(model, engine="native", threads=1, shapes="off")
    assert in_place(session) == {"present_k": "past_k", "present_v": "past_v"}
    for length, new, room in ((0, 5, 16), (5, 1, 16), (6, 1, 16), (7, 2, 16), (9, 7, 16), (300, 1, 600)):
        feeds = growing_feeds(length, new, room)
        past = {name: feeds[name][:, :, :length].copy() for name in ("past_k", "past_v")}
        expected = plain.run({**{name: feeds[name] for name in "qkv"}, **past})
        rest = {name: feeds[name][:, :, length + new :].copy() for name in past}
        results = session.run(feeds, out={f"present_{n}": feeds[f"past_{n}"] for n in "kv"})
        np.testing.assert_array_equal(results["y"], expected["y"])
        for name in "kv":
            cache = feeds[f"past_{name}"]
            np.testing.assert_array_equal(cache[:, :, : length + new], expected[f"present_{name}"])
            np.testing.assert_array_equal(cache[:, :, length + new :], rest[f"past_{name}"])
    assert session.stats.fallback_nodes == 0 and not session.stats.bailouts


def test_a_cache_without_room_is_refused() -> None:
    session = sx.Session(parse_model(GROUPED, more=VENDOR), engine="native", threads=1)
    for _ in range(4):
        feeds = grouped_feeds(6, 1, 6)
        with pytest.raises(sx.OutputError, match=r"must be float32\[1, 2, 7, 4\]; got float32\[1, 2, 6, 4\]"):
            session.run(feeds, out={"present_k": feeds["past_k"]})
        session.run(grouped_feeds(6, 1, 6))


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_proved_is_copied(why: str) -> None:
    """The results are those of the reference engine, which never works in place."""
    model = parse_model(REFUSED[why], opset=24)
    session, reference = sx.Session(model, engine="native", threads=1), Interpreter(model)
    assert in_place(session) == {}
    given = scatter_feeds() | {
        "starts": np.zeros(2, np.int64),
        "i": np.array([[0, 1, 2], [0, 1, 2]]),
        "count": np.array(3),
    }
    if why == "elements are added to the old ones":
        given |= {"past": np.ones((4, 3), np.float32), "new": np.ones((2, 3), np.float32)}
    if why == "elements are read between two updates":
        given |= {name: given[name][:1] for name in ("past", "new", "starts")}
    feeds = {value.name: given[value.name] for value in session.inputs}
    expected = reference.run(copies(feeds))
    for _ in range(4):
        fed = copies(feeds)
        results = session.run(fed, out={"present": fed["past"]})
        assert results["present"] is fed["past"]
        for name, value in expected.items():
            np.testing.assert_allclose(results[name], np.asarray(value), 1e-6)


def test_two_feeds_of_one_array_are_refused() -> None:
    session = sx.Session(parse_model(GROUPED, more=VENDOR), engine="native", threads=1)
    feeds = grouped_feeds(4, 1, 8)
    feeds["past_v"] = feeds["past_k"]
    with pytest.raises(sx.OutputError, match="share memory"):
        session.run(feeds, out={"present_k": feeds["past_k"]})


def test_an_input_is_not_the_memory_of_another_inputs_output() -> None:
    """The caches are exchanged: each output is computed elsewhere and then copied."""
    session = sx.Session(parse_model(GROUPED, more=VENDOR), engine="native", threads=1)
    for _ in range(4):
        feeds = grouped_feeds(4, 1, 8)
        expected = session.run(copies(feeds))
        keys, values = feeds["past_k"], feeds["past_v"]
        results = session.run(feeds, out={"present_k": values, "present_v": keys})
        for name, value in expected.items():
            np.testing.assert_array_equal(results[name], value)


def test_a_run_that_fails_has_replaced_new_elements_at_most() -> None:
    """The first row is written before the position of the second one is refused."""
    session = sx.Session(parse_model(STANDARD, opset=24), engine="native", threads=1)
    for _ in range(3):
        session.run(scatter_feeds())
    feeds = scatter_feeds() | {"starts": np.array([2, 6])}
    before = feeds["past"].copy()
    with pytest.raises(sx.EvaluationError):
        session.run(feeds, out={"present": feeds["past"]})
    np.testing.assert_array_equal(feeds["past"][0, :, 2:4], feeds["new"][0])
    before[0, :, 2:4], before[1, :, 6] = feeds["new"][0], feeds["new"][1, :, 0]
    np.testing.assert_array_equal(feeds["past"], before)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_on_replaced_elements_is_the_first_run(threads: int) -> None:
    """As after a run that was cancelled when it had written any of the new elements."""
    session = sx.Session(parse_model(GROUPED, more=VENDOR), engine="native", threads=threads)
    for length in (4, 5, 6, 7):
        feeds = grouped_feeds(length, 2, 12)
        expected = session.run(copies(feeds))
        for _ in range(2):
            results = session.run(feeds, out={f"present_{n}": feeds[f"past_{n}"] for n in "kv"})
            for name, value in expected.items():
                np.testing.assert_array_equal(results[name], value)


def test_a_saved_program_writes_in_place(tmp_path: Path) -> None:
    model = parse_model(STANDARD, opset=24)
    save_compiled(model, tmp_path / "update.sdx")
    session = sx.Session(tmp_path / "update.sdx", threads=1)
    assert in_place(session) == {"present": "past"}
    for _ in range(4):
        feeds = scatter_feeds()
        expected = session.run(copies(feeds))
        results = session.run(feeds, out={"present": feeds["past"]})
        for name, value in expected.items():
            np.testing.assert_array_equal(results[name], value)


def test_a_saved_program_writes_caches_of_concat_in_place(tmp_path: Path) -> None:
    model = add_cache_room(parse_model(GROWING, opset=23))
    save_compiled(model, tmp_path / "growing.sdx")
    session, compiled = sx.Session(tmp_path / "growing.sdx", threads=1), sx.Session(model, threads=1)
    assert in_place(session) == {"present_k": "past_k", "present_v": "past_v"}
    for length in (5, 6, 7):
        feeds = growing_feeds(length, 1, 16)
        expected = compiled.run(copies(feeds))
        results = session.run(feeds, out={f"present_{n}": feeds[f"past_{n}"] for n in "kv"})
        for name, value in expected.items():
            np.testing.assert_array_equal(results[name], value)


def test_verified_runs_write_in_place() -> None:
    session = sx.Session(parse_model(STANDARD, opset=24), engine="native", verify="every", threads=1)
    for _ in range(4):
        feeds = scatter_feeds()
        session.run(feeds, out={"present": feeds["past"]})
    assert session.stats.verified_runs == 4


def test_memory_of_an_updated_cache_is_not_lent() -> None:
    """An output of a fixed size may hold temporary values before it is written, but not where it may be an input."""
    text = """g (float[1,2,8192,3] past, float[1,2,4096,3] x, int64[1] starts)
        => (float[1,2,1,3] y, float[1,2,8192,3] present) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] axis = {2}>
        { a = Softmax(x) b = Softmax <axis = 2> (a) y = Slice(b, zero, one, axis)
          present = TensorScatter <axis = 2> (past, y, starts) }"""
    session = sx.Session(parse_model(text, opset=24), engine="native", threads=1)
    assert in_place(session) == {"present": "past"}
    assert isinstance(session._runner, NativeEngine)
    program = session._runner.native.program
    assert plan_memory(replace(program, in_place={})).loans and not plan_memory(program).loans
    draw = np.random.default_rng(2)
    past, x = (draw.standard_normal((1, 2, n, 3)).astype(np.float32) for n in (8192, 4096))
    for start in range(4):
        feeds = {"past": past.copy(), "x": x, "starts": np.array([start])}
        expected = session.run(copies(feeds))
        results = session.run(feeds, out={"present": feeds["past"]})
        for name, value in expected.items():
            np.testing.assert_array_equal(results[name], value)


def test_steps_between_copy_and_insertion_must_not_read() -> None:
    """The steps of a model, with one that reads the output moved, added or repeated."""
    session = sx.Session(parse_model(STANDARD, opset=24), engine="native", threads=1)
    assert isinstance(session._runner, NativeEngine)
    program = session._runner.native.program
    copy, insert = (step for step in program.steps if step.writes[0].buffer.name == "present")
    negation = next(step for step in program.steps if step not in (copy, insert))
    (present,) = copy.writes
    reader = replace(negation, reads=(present,), args=(present, *negation.args[1:]))
    hidden = replace(
        negation, args=(present, *negation.args[1:])
    )  # an argument that the step does not declare
    back = replace(negation, jump=Jump(present, -1))
    proved = {"present": "past"}
    for steps, expected in (
        ((copy, insert, negation), proved),
        ((negation, copy, insert, reader), proved),
        ((copy, reader, insert), {}),
        ((copy, hidden, insert), {}),
        ((insert, copy, negation), {}),
        ((copy, insert, copy, negation), {}),
        ((copy, insert, back), {}),
    ):
        assert find_in_place_outputs(replace(program, actions=[*steps])) == expected
