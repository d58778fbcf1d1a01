"""Arrays of the caller that receive the outputs of a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
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
    "memory of a feed": (lambda x: {"y": x}, "share memory"),
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
