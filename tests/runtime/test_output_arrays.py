"""Arrays of the caller that receive the outputs of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.results.output_arrays import MAX_ROOM, MIN_ROUNDED_BYTES, new_output
from sardonyx._src.runtime.session.session import Engine

TEXT = "g (float[N,4] x) => (float[N,4] y, int64[N,4] z) { y = Sin (x)  z = Cast <to = 7> (x) }"
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def open_session(engine: Engine) -> sx.Session:
    return sx.Session(parse_model(TEXT), engine=engine)


@ENGINES
@pytest.mark.parametrize("runs_before", [0, 4])
def test_outputs_are_written_to_the_arrays(engine: Engine, runs_before: int) -> None:
    session = open_session(engine)
    for _ in range(runs_before):
        expected = session.run({"x": X})
    expected = session.run({"x": X})
    y = np.full((3, 4), np.nan, np.float32)
    results = session.run({"x": X}, out={"y": y})
    assert results["y"] is y
    np.testing.assert_array_equal(y, expected["y"])
    np.testing.assert_array_equal(results["z"], expected["z"])
    assert (
        session.stats.fast_path_runs == (runs_before + 2 - 2 if runs_before else 0) or engine == "reference"
    )


@ENGINES
def test_chosen_outputs_are_written_to_the_arrays(engine: Engine) -> None:
    z = np.zeros((3, 4), np.int64)
    results = open_session(engine).run({"x": X}, ["z"], out={"z": z})
    assert results.keys() == {"z"}
    np.testing.assert_array_equal(z, X)


WRONG: dict[str, tuple[Callable[[np.ndarray], object], str]] = {
    "an unknown name": (lambda x: {"q": x.copy()}, "no output 'q'"),
    "no mapping": (lambda x: [x.copy()], "mapping"),
    "no array": (lambda x: {"y": [1.0]}, "contiguous"),
    "another order": (lambda x: {"y": np.asfortranarray(x)}, "contiguous"),
    "another shape": (lambda x: {"y": np.zeros((3, 5), np.float32)}, r"must be float32\[3, 4\]"),
    "another element type": (lambda x: {"y": np.zeros((3, 4))}, "got float64"),
    "a part of a feed": (lambda x: {"y": x[:2]}, "share memory"),
    "another view of a feed": (lambda x: {"y": x[:]}, "share memory"),
    "a feed of another element type": (lambda x: {"z": x}, r"must be int64\[3, 4\]"),
    "one array for two": (lambda x: dict.fromkeys(("y", "z"), x.copy()), "share memory"),
}


@ENGINES
@pytest.mark.parametrize("runs_before", [0, 4])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_arrays_are_refused(engine: Engine, runs_before: int, name: str) -> None:
    make, words = WRONG[name]
    session, x = open_session(engine), X.copy()
    for _ in range(runs_before):
        session.run({"x": x})
    with pytest.raises(sx.OutputError, match=words):
        session.run({"x": x}, out=make(x))  # type: ignore[arg-type]  # wrong on purpose
    read_only = np.zeros((3, 4), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(sx.OutputError, match="writeable"):
        session.run({"x": x}, out={"y": read_only})
    np.testing.assert_array_equal(x, X)


@ENGINES
def test_an_array_inside_a_long_feed_is_refused(engine: Engine) -> None:
    """A short feed lies between the beginning of the long one and the array."""
    model = parse_model("g (float[8] x, float[2] w) => (float[2] y) { y = Neg(w) z = Neg(x) }")
    memory = np.zeros(8, np.float32)
    with pytest.raises(sx.OutputError, match="share memory"):
        sx.Session(model, engine=engine).run({"x": memory, "w": memory[1:3]}, out={"y": memory[5:7]})


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex128"])
def test_new_arrays_of_nearly_equal_sizes_have_memory_of_one_size(dtype: str) -> None:
    kind, rooms = np.dtype(dtype), []
    for length in range(1, 300):
        array = new_output((1, 8, length, 64), kind)
        assert (array.shape, array.dtype) == ((1, 8, length, 64), kind)
        assert array.flags.c_contiguous and array.flags.writeable
        room = array.nbytes if array.base is None else array.base.nbytes
        assert array.nbytes <= room <= array.nbytes * MAX_ROOM
        rooms.append(room)
        assert (array.base is None) == (array.nbytes < MIN_ROUNDED_BYTES)
    assert len({room for room in rooms if room >= MIN_ROUNDED_BYTES}) < 60


def test_results_of_a_growing_cache_have_room() -> None:
    text = "g (float[1,8,P,64] past, float[1,8,1,64] new) => (float[1,8,T,64] present) { present = Concat <axis = 2> (past, new) }"
    session, past = (
        sx.Session(parse_model(text), engine="native", threads=1),
        np.ones((1, 8, 100, 64), np.float32),
    )
    for step in range(6):
        result = session.run({"past": past, "new": np.full((1, 8, 1, 64), step, np.float32)})["present"]
        past = np.asarray(result)
    assert session.stats.fast_path_runs == 4
    assert past.base is not None and past.base.nbytes == 8 * 112 * 64 * 4
    assert (past[0, 0, :, 0] == [*[1] * 100, *range(6)]).all()
