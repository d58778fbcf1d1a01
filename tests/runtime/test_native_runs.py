"""Runs of the native engine, the first and those on the fast path: same results, same errors."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import sardonyx as sx
from models import parse_record
from sardonyx._src.errors import EvaluationError, InputError, OutputError
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.feeds.feeds import convert_tensor
from sardonyx._src.runtime.programs.arrays import matches_layout
from sardonyx._src.runtime.runs.native_program import NativeProgram

F = np.float32
Floats = NDArray[np.float32]
SUM = "g (float[N,3] x, float[3] b) => (float[N,3] y, float[N,3] z) { y = Add(x, b)  z = Mul(y, y) }"
PICK = "g (float[N,3] x, int64[M] i) => (float[M,3] y) { y = Gather<axis = 0>(x, i) }"


def make_session(text: str, threads: int | None = 1) -> sx.Session:
    return sx.Session(parse_record(text, opset=21, ir=10), engine="native", threads=threads)


def native_program(of: sx.Session) -> NativeProgram:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native


def feeds(rows: int, seed: int = 0) -> dict[str, Floats]:
    draw = np.random.default_rng(seed)
    return {"x": draw.standard_normal((rows, 3), F), "b": draw.standard_normal(3, F)}


def make_warm_session(rows: int = 2, threads: int | None = 1) -> sx.Session:
    """A session whose next run of `rows` rows takes the fast path."""
    session = make_session(SUM, threads)
    for _ in range(2):
        assert session._try_run is not None and session._try_run(feeds(rows)) is None
        session.run(feeds(rows))
    assert session._try_run is not None and session._try_run(feeds(rows)) is not None
    return session


def is_right(fed: Mapping[str, Floats], results: Mapping[str, object]) -> bool:
    y = fed["x"] + fed["b"]  # one rounding per operation, as in the kernels
    return np.array_equal(results["y"], y) and np.array_equal(results["z"], y * y)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [0, 1, 2, 1000, 100_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_fast_path_runs_are_correct(rows: int, threads: int) -> None:
    session = make_warm_session(rows, threads)
    for seed in range(4):
        fed = feeds(rows, seed)
        assert is_right(fed, session.run(fed))


def test_results_of_the_fast_path_are_owned_by_the_caller() -> None:
    session, fed = make_warm_session(), feeds(2)
    first = session.run(fed)
    copies = {name: np.array(result) for name, result in first.items()}
    session.run(feeds(2, 1))
    assert all(np.array_equal(first[name], copies[name]) for name in copies)
    assert all(
        isinstance(value, np.ndarray) and value.flags.writeable and value.base is None
        for value in first.values()
    )
    assert list(first) == ["y", "z"]


def test_feeds_of_the_fast_path_may_be_in_any_order_and_read_only() -> None:
    session, fed = make_warm_session(), feeds(2)
    fed["x"].flags.writeable = False
    assert is_right(fed, session.run({"b": fed["b"], "x": fed["x"]}))


def arrays_of_equal_types(x: Floats) -> list[Floats]:
    """The same numbers in arrays whose dtype is equal to the native one, but another object."""
    described = np.dtype(F, metadata={"unit": "m"})
    return [pickle.loads(pickle.dumps(x)), x.view(x.dtype.newbyteorder("=")), x.view(described)]


def test_feeds_whose_dtype_is_another_object_take_the_fast_path() -> None:
    session, fed = make_warm_session(), feeds(2)
    for x in arrays_of_equal_types(fed["x"]):
        assert x.dtype == fed["x"].dtype and x.dtype is not fed["x"].dtype
        before, fed_x = session.stats.fast_path_runs, {"x": x, "b": fed["b"]}
        assert is_right(fed, session.run(fed_x))
        assert session.stats.fast_path_runs == before + 1


@pytest.mark.parametrize(("usual", "other"), [(np.int64, "q"), (np.uint64, "Q")])
def test_integers_of_long_long_take_the_fast_path(usual: type[np.generic], other: str) -> None:
    """On many systems NumPy has two types of 64-bit integers, which are equal."""
    name = np.dtype(usual).name
    session = make_session(f"g ({name}[N] x) => ({name}[N] y) {{ y = Add(x, x) }}")
    for count in (3, 3, 3, 5):
        x = np.arange(count).astype(other)
        assert x.dtype == usual
        assert session.run({"x": x})["y"].tolist() == (2 * x).tolist()
    assert session.stats.fast_path_runs == 2
    unequal = {"q": (np.uint64, np.int32, np.float64), "Q": (np.int64, np.uint32, np.float64)}[other]
    swapped = np.arange(3, dtype=usual).astype(np.dtype(usual).newbyteorder())
    assert session.run({"x": swapped})["y"].tolist() == [0, 2, 4]
    for dtype in unequal:
        with pytest.raises(InputError, match=f"must be {name}"):
            session.run({"x": np.arange(3, dtype=dtype)})
    assert session.stats.fast_path_runs == 2


def test_kernels_read_the_declared_dtype_object() -> None:
    value = convert_tensor(pickle.loads(pickle.dumps(np.zeros(2, F))), sx.DataType.FLOAT, "x")
    assert value.dtype is sx.DataType.FLOAT.numpy


def unusual_arrays(x: Floats) -> list[object]:
    """The same numbers in arrays that the fast path does not accept."""
    storage = np.zeros(x.nbytes + 1, np.uint8)
    unaligned = storage[1:].view(F).reshape(x.shape)
    unaligned[...] = x
    spaced = np.zeros((x.shape[0], 6), F)
    spaced[:, ::2] = x
    return [x.tolist(), np.asfortranarray(x), unaligned, spaced[:, ::2], x.view(np.recarray), np.ma.array(x)]


def test_feeds_that_the_fast_path_does_not_accept_are_converted() -> None:
    session, fed = make_warm_session(), feeds(2)
    for x in unusual_arrays(fed["x"]):
        assert is_right(fed, session.run({"x": x, "b": fed["b"]}))
    assert is_right(fed, session.run(OrderedDict(fed)))


BAD: list[Callable[[dict[str, Floats]], object]] = [
    lambda fed: {"x": fed["x"]},
    lambda fed: {"x": fed["x"], "c": fed["b"]},
    lambda fed: {**fed, "more": fed["b"]},
    lambda fed: {**fed, "x": fed["x"].astype(np.float64)},
    lambda fed: {**fed, "x": fed["x"].view(np.int32)},
    lambda fed: {**fed, "x": fed["x"].reshape(-1)},
    lambda fed: {**fed, "x": fed["x"].reshape(3, 2)},
    lambda fed: {**fed, "b": np.zeros(4, F)},
    lambda fed: {**fed, "b": None},
    lambda fed: [fed["x"], fed["b"]],
    lambda _: None,
]


@pytest.mark.parametrize("bad", BAD)
def test_the_fast_path_refuses_the_feeds_that_a_first_run_refuses(
    bad: Callable[[dict[str, Floats]], object],
) -> None:
    warm, fresh = make_warm_session(), make_session(SUM)
    for _ in range(2):
        messages = []
        for session in (fresh, warm):
            with pytest.raises((InputError, TypeError)) as caught:
                session.run(bad(feeds(2)))  # type: ignore[arg-type]
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert is_right(feeds(2), warm.run(feeds(2)))


def test_lengths_may_change_from_run_to_run() -> None:
    session, rng = make_session(SUM), np.random.default_rng(1)
    for rows in rng.integers(0, 5, 60):
        fed = feeds(int(rows), int(rows))
        assert is_right(fed, session.run(fed))


def test_outputs_are_checked_against_their_declaration_in_every_run() -> None:
    text = "g (float[N] x, float[M] w) => (float[N] y) { y = Concat<axis = 0>(x, w) }"
    session = sx.Session(parse_record(text), engine="native", shapes="strict")
    for _ in range(4):
        with pytest.raises(OutputError, match="'N'"):
            session.run({"x": np.zeros(2, F), "w": np.zeros(1, F)})


def test_an_index_out_of_range_is_refused_in_every_run() -> None:
    session, x = make_session(PICK), np.arange(6, dtype=F).reshape(2, 3)
    for _ in range(3):
        assert np.array_equal(session.run({"x": x, "i": np.array([1, -2])})["y"], x[[1, 0]])
    for _ in range(3):
        with pytest.raises(EvaluationError):
            session.run({"x": x, "i": np.array([1, 2])})
        assert np.array_equal(session.run({"x": x, "i": np.array([1, -2])})["y"], x[[1, 0]])


def test_outputs_can_be_selected_on_the_fast_path() -> None:
    assert list(make_warm_session().run(feeds(2), ["z"])) == ["z"]


def test_a_default_may_be_fed_between_fast_path_runs() -> None:
    text = "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }"
    session, x = make_session(text), np.zeros(2, F)
    for _ in range(4):
        assert np.array_equal(session.run({"x": x})["y"], [1, 2])
    for _ in range(3):
        assert np.array_equal(session.run({"x": x, "w": np.ones(2, F)})["y"], [1, 1])
        assert np.array_equal(session.run({"x": x})["y"], [1, 2])


@pytest.mark.parametrize("threads", [1, 2])
def test_many_threads_may_run_one_session(threads: int) -> None:
    session, wrong = make_session(SUM, threads), []

    def work(number: int) -> None:
        for iteration in range(150):
            rows = (1, 7, 3000)[(number + iteration // 10) % 3]
            fed = feeds(rows, number)
            if not is_right(fed, session.run(fed)):
                wrong.append((number, iteration))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_fields_of_arrays_are_read_from_memory() -> None:
    for array in (np.zeros(()), np.zeros((0, 4), np.int8), np.zeros((4, 5), F)[:, ::2], np.zeros((2, 3)).T):
        assert matches_layout(array)
    assert all(map(matches_layout, arrays_of_equal_types(np.zeros(1, F))))
    storage = np.zeros(9, np.uint8)
    assert matches_layout(storage[1:].view(F))
