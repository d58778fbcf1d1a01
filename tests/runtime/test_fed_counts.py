"""Counts that callers feed decide sizes of caches: runs with new ones are native and quick, and compared with the reference engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.program.steps.program import COUNT_AXIS
from sardonyx._src.errors import EvaluationError, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.saved_programs.writing import save_compiled

HEADS, KEY_HEADS, SIZE = 4, 2, 8
VENDOR = '"com.microsoft" : 1'
CACHE = f"float[B,{KEY_HEADS},P,{SIZE}]"
PRESENT = f"float[B,{KEY_HEADS},T,{SIZE}]"


def decoder(total: str = "int32 total", count: str = "total") -> sx.ir.Model:
    """An attention over a cache.  total: the declaration of the count; count: a name, or a node that makes it of `total`."""
    node, name = (f"count = {count}", "count") if "(" in count else ("", count)
    return parse_model(
        f"""g (float[B,S,{HEADS * SIZE}] q, float[B,S,{KEY_HEADS * SIZE}] k, float[B,S,{KEY_HEADS * SIZE}] v,
            {CACHE} past_k, {CACHE} past_v, int32[B] last, {total})
            => (float[B,S,{HEADS * SIZE}] y, {PRESENT} present_k, {PRESENT} present_v) {{
            {node}
            y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = {HEADS}, kv_num_heads = {KEY_HEADS}>
                (q, k, v, past_k, past_v, last, {name}) }}""",
        more=VENDOR,
    )


def native_program(session: sx.Session) -> NativeProgram:
    assert isinstance(session._runner, NativeEngine)
    return session._runner.native


class Decoding:
    """The caches of a sequence, and the feeds of its next tokens.  room: entries of the first cache."""

    def __init__(self, room: int = 0, dtype: type = np.int32, shape: tuple[int, ...] = ()) -> None:
        self.draw, self.length, self.dtype, self.shape = np.random.default_rng(3), 0, dtype, shape
        self.caches = [np.zeros((1, KEY_HEADS, room, SIZE), np.float32) for _ in range(2)]

    def feeds(self, new: int) -> dict[str, Array]:
        self.length += new
        widths = {"q": HEADS * SIZE, "k": KEY_HEADS * SIZE, "v": KEY_HEADS * SIZE}
        rows = {name: self.draw.standard_normal((1, new, n), np.float32) for name, n in widths.items()}
        last = np.array([self.length - 1], np.int32)
        total: Array = np.full(self.shape, self.length, self.dtype)
        return {**rows, "past_k": self.caches[0], "past_v": self.caches[1], "last": last, "total": total}


def assert_decodes(session: sx.Session, model: sx.ir.Model, decoding: Decoding, steps: list[int]) -> None:
    """Runs agree with the reference engine, whose caches the next tokens have."""
    reference = Interpreter(model)
    for new in steps:
        feeds = decoding.feeds(new)
        results, expected = session.run(feeds), reference.run(feeds)
        for name, value in expected.items():
            np.testing.assert_allclose(np.asarray(results[name]), np.asarray(value), 1e-4, 1e-5)
        decoding.caches = [np.asarray(expected[f"present_{name}"]) for name in "kv"]
    assert session.stats.fallback_nodes == 0 and not session.stats.bailouts


def test_a_growing_cache_has_one_program_and_is_quick_at_every_size() -> None:
    model = decoder()
    session = sx.Session(model, engine="native", threads=1)
    assert native_program(session).program.sizes["total"] == ("total", COUNT_AXIS)
    assert_decodes(session, model, Decoding(), [5, *[1] * 40, 3, 1, 1])
    stats = session.stats
    assert (stats.compilations, stats.specializations, stats.fast_path_runs) == (1, 0, stats.runs - 2)


def test_counts_differ_between_runs_of_equal_shapes() -> None:
    """A cache with room for 12 tokens grows after these."""
    model = decoder()
    session = sx.Session(model, engine="native", threads=2)
    assert_decodes(session, model, Decoding(room=12), [*[1] * 20])
    assert session.stats.fast_path_runs == 18


@pytest.mark.parametrize(
    ("total", "count", "decoding"),
    [
        ("int32[1] total", "total", Decoding(shape=(1,))),
        ("int64 total", "Cast <to = 6> (total)", Decoding(dtype=np.int64)),
        ("int64[1] total", "Cast <to = 6> (total)", Decoding(dtype=np.int64, shape=(1,))),
    ],
)
def test_counts_of_other_types_and_shapes(total: str, count: str, decoding: Decoding) -> None:
    model = decoder(total, count)
    session = sx.Session(model, engine="native", threads=1)
    assert_decodes(session, model, decoding, [4, 1, 1, 1])
    assert session.stats.fast_path_runs == 2


def test_counts_that_no_run_can_have() -> None:
    """A negative count is for the reference engine, whatever runs came before; a huge one exceeds the memory of a run."""
    model = decoder()
    session = sx.Session(model, engine="native", threads=1, limits=sx.RunLimits(bytes=1 << 20))
    decoding = Decoding()
    assert_decodes(session, model, decoding, [4, 1, 1])
    feeds = decoding.feeds(1)
    for _ in range(2):
        with pytest.raises(EvaluationError, match="must fit a cache of 6"):
            session.run({**feeds, "total": np.array(-7, np.int32)})
    assert session.stats.bailouts == {"negative count": 2}
    with pytest.raises(LimitError):
        session.run({**feeds, "total": np.array(2**31 - 1, np.int32)})
    assert session.run(feeds)["present_k"].shape[2] == 7


def test_saved_programs_and_strided_counts(tmp_path: Path) -> None:
    model = decoder()
    path = tmp_path / "decoder.sdx"
    save_compiled(model, path)
    session = sx.Session(path, threads=1)
    assert_decodes(session, model, Decoding(), [3, 1, 1, 1, 1])
    assert session.stats.fast_path_runs == 3


def test_a_program_with_fallback_operations_reads_counts_in_every_run() -> None:
    """Shapes are equal in all runs, sizes of results are not."""
    text = f"""g (float[1,1,{HEADS * SIZE}] q, float[1,1,{KEY_HEADS * SIZE}] k, float[1,1,{KEY_HEADS * SIZE}] v,
        float[1,{KEY_HEADS},4,{SIZE}] past_k, float[1,{KEY_HEADS},4,{SIZE}] past_v, int32[1] last, int32 total, string[1] s)
        => (float[1,1,{HEADS * SIZE}] y, float[?,?,?,?] present_k, float[?,?,?,?] present_v, string[1] t) {{
        t = StringConcat(s, s)
        y, present_k, present_v = com.microsoft.GroupQueryAttention <num_heads = {HEADS}, kv_num_heads = {KEY_HEADS}>
            (q, k, v, past_k, past_v, last, total) }}"""
    session = sx.Session(parse_model(text, more=VENDOR), engine="native", threads=1)
    decoding = Decoding(room=4)
    feeds = {**decoding.feeds(1), "s": np.array(["a"], object)}
    for total in (3, 3, 3, 4, 9, 5, 9):
        feeds |= {"last": np.array([total - 1], np.int32), "total": np.array(total, np.int32)}
        results = session.run(feeds)
        assert np.asarray(results["present_k"]).shape[2] == max(4, total)
    assert session.stats.fast_path_runs == 0


def test_a_buffer_of_multi_head_attention_is_filled() -> None:
    cache = f"float[1,{HEADS},16,{SIZE}]"
    rows = f"float[1,S,{HEADS * SIZE}]"
    model = parse_model(
        f"""g ({rows} q, {rows} k, {rows} v, {cache} past_k, {cache} past_v, int32[1] filled)
        => ({rows} y, {cache} present_k, {cache} present_v) {{
        y, present_k, present_v = com.microsoft.MultiHeadAttention <num_heads = {HEADS}>
            (q, k, v, , , , past_k, past_v, filled) }}""",
        more=VENDOR,
    )
    session, draw = sx.Session(model, engine="native", threads=1), np.random.default_rng(2)
    reference = Interpreter(model)
    caches, filled = [np.zeros((1, HEADS, 16, SIZE), np.float32)] * 2, 0
    for new in (3, *[1] * 10):
        feeds = {name: draw.standard_normal((1, new, HEADS * SIZE), np.float32) for name in "qkv"}
        feeds |= {"past_k": caches[0], "past_v": caches[1], "filled": np.array([filled], np.int32)}
        results, expected = session.run(feeds), reference.run(feeds)
        for name, value in expected.items():
            np.testing.assert_allclose(np.asarray(results[name]), np.asarray(value), 1e-4, 1e-5)
        caches, filled = [np.asarray(expected[f"present_{name}"]) for name in "kv"], filled + new
    assert session.stats.fallback_nodes == 0
    assert session.stats.fast_path_runs == 9


@pytest.mark.parametrize("new", [1, 3])
def test_the_room_of_a_cache_is_not_read(new: int) -> None:
    """What is in it, even no number, changes nothing: neither here nor in the reference engine."""
    model = decoder()
    session, reference = sx.Session(model, engine="native", threads=1), Interpreter(model)
    decoding = Decoding(room=40)
    decoding.length = 20
    for cache in decoding.caches:
        cache[:, :, :20] = decoding.draw.standard_normal((1, KEY_HEADS, 20, SIZE), np.float32)
    feeds = decoding.feeds(new)
    expected = session.run(feeds)["y"]
    for name in ("past_k", "past_v"):
        feeds[name] = feeds[name].copy()
        feeds[name][:, :, 20 + new :] = np.nan
    np.testing.assert_array_equal(session.run(feeds)["y"], expected)
    np.testing.assert_allclose(np.asarray(reference.run(feeds)["y"]), expected, 1e-4, 1e-5)
