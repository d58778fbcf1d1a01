"""Runs of the native engine, the first and those that are like an earlier one: same results, same refusals."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

import sardonyx as sx
from models import record
from sardonyx._src.errors import EvaluationError, InputError, OutputError
from sardonyx._src.runtime.arrays import is_seen
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.native import NativeProgram

F = np.float32
Floats = NDArray[np.float32]
SUM = "g (float[N,3] x, float[3] b) => (float[N,3] y, float[N,3] z) { y = Add(x, b)  z = Mul(y, y) }"
PICK = "g (float[N,3] x, int64[M] i) => (float[M,3] y) { y = Gather<axis = 0>(x, i) }"


def session(text: str, threads: int | None = 1) -> sx.Session:
    return sx.Session(record(text, opset=21, ir=10), engine="native", threads=threads)


def program(of: sx.Session) -> NativeProgram:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native


def feeds(rows: int, seed: int = 0) -> dict[str, Floats]:
    draw = np.random.default_rng(seed)
    return {"x": draw.standard_normal((rows, 3), F), "b": draw.standard_normal(3, F)}


def practised(rows: int = 2, threads: int | None = 1) -> sx.Session:
    """A session whose next run of so many rows is a quick one."""
    found = session(SUM, threads)
    for _ in range(2):
        assert found._again is not None and found._again(feeds(rows)) is None
        found.run(feeds(rows))
    assert found._again is not None and found._again(feeds(rows)) is not None
    return found


def is_right(fed: Mapping[str, Floats], results: Mapping[str, object]) -> bool:
    y = fed["x"] + fed["b"]  # one rounding an operation, as in the kernels
    return np.array_equal(results["y"], y) and np.array_equal(results["z"], y * y)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [0, 1, 2, 1000, 100_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_runs_alike_are_quick_and_right(rows: int, threads: int) -> None:
    found = practised(rows, threads)
    for seed in range(4):
        fed = feeds(rows, seed)
        assert is_right(fed, found.run(fed))


def test_results_of_quick_runs_are_the_callers_own() -> None:
    found, fed = practised(), feeds(2)
    first = found.run(fed)
    kept = {name: np.array(value) for name, value in first.items()}
    found.run(feeds(2, 1))
    assert all(np.array_equal(first[name], kept[name]) for name in kept)  # type: ignore[arg-type]
    assert all(
        isinstance(one, np.ndarray) and one.flags.writeable and one.base is None for one in first.values()
    )
    assert list(first) == ["y", "z"]


def test_feeds_of_quick_runs_may_be_in_any_order_and_read_only() -> None:
    found, fed = practised(), feeds(2)
    fed["x"].flags.writeable = False
    assert is_right(fed, found.run({"b": fed["b"], "x": fed["x"]}))


def odd(x: Floats) -> list[object]:
    """The same numbers in what is no plain array."""
    room = np.zeros(x.nbytes + 1, np.uint8)
    unaligned = room[1:].view(F).reshape(x.shape)
    unaligned[...] = x
    wide = np.zeros((x.shape[0], 6), F)
    wide[:, ::2] = x
    return [x.tolist(), np.asfortranarray(x), unaligned, wide[:, ::2], x.view(np.recarray), np.ma.array(x)]


def test_feeds_that_are_no_plain_arrays_are_taken_as_before() -> None:
    found, fed = practised(), feeds(2)
    for x in odd(fed["x"]):
        assert is_right(fed, found.run({"x": x, "b": fed["b"]}))
    assert is_right(fed, found.run(OrderedDict(fed)))


BAD: list[Callable[[dict[str, Floats]], object]] = [
    lambda fed: {"x": fed["x"]},
    lambda fed: {"x": fed["x"], "c": fed["b"]},
    lambda fed: {**fed, "more": fed["b"]},
    lambda fed: {**fed, "x": fed["x"].astype(np.float64)},
    lambda fed: {**fed, "x": fed["x"].astype(">f4")},
    lambda fed: {**fed, "x": fed["x"].view(np.int32)},
    lambda fed: {**fed, "x": fed["x"].reshape(-1)},
    lambda fed: {**fed, "x": fed["x"].reshape(3, 2)},
    lambda fed: {**fed, "b": np.zeros(4, F)},
    lambda fed: {**fed, "b": None},
    lambda fed: [fed["x"], fed["b"]],
    lambda _: None,
]


@pytest.mark.parametrize("bad", BAD)
def test_quick_runs_refuse_what_a_first_run_refuses(bad: Callable[[dict[str, Floats]], object]) -> None:
    found, fresh = practised(), session(SUM)
    for _ in range(2):
        messages = []
        for one in (fresh, found):
            with pytest.raises(InputError) as caught:
                one.run(bad(feeds(2)))  # type: ignore[arg-type]
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert is_right(feeds(2), found.run(feeds(2)))


def test_lengths_may_change_from_run_to_run() -> None:
    found, chance = session(SUM), np.random.default_rng(1)
    for rows in chance.integers(0, 5, 60):
        fed = feeds(int(rows), int(rows))
        assert is_right(fed, found.run(fed))


def test_outputs_are_held_to_their_declaration_in_every_run() -> None:
    found = session("g (float[N] x, float[M] w) => (float[N] y) { y = Concat<axis = 0>(x, w) }")
    for _ in range(4):
        with pytest.raises(OutputError, match="'N'"):
            found.run({"x": np.zeros(2, F), "w": np.zeros(1, F)})


def test_an_index_out_of_range_is_refused_in_every_run() -> None:
    found, x = session(PICK), np.arange(6, dtype=F).reshape(2, 3)
    for _ in range(3):
        assert np.array_equal(found.run({"x": x, "i": np.array([1, -2])})["y"], x[[1, 0]])  # type: ignore[arg-type]
    for _ in range(3):
        with pytest.raises(EvaluationError):
            found.run({"x": x, "i": np.array([1, 2])})
        assert np.array_equal(found.run({"x": x, "i": np.array([1, -2])})["y"], x[[1, 0]])  # type: ignore[arg-type]


def test_outputs_can_be_picked_from_runs_alike() -> None:
    assert list(practised().run(feeds(2), ["z"])) == ["z"]


def test_a_default_may_be_fed_between_quick_runs() -> None:
    text = "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }"
    found, x = session(text), np.zeros(2, F)
    for _ in range(4):
        assert np.array_equal(found.run({"x": x})["y"], [1, 2])  # type: ignore[arg-type]
    for _ in range(3):
        assert np.array_equal(found.run({"x": x, "w": np.ones(2, F)})["y"], [1, 1])  # type: ignore[arg-type]
        assert np.array_equal(found.run({"x": x})["y"], [1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_threads_may_run_one_session(threads: int) -> None:
    found, wrong = session(SUM, threads), []

    def work(number: int) -> None:
        for turn in range(150):
            rows = (1, 7, 3000)[(number + turn // 10) % 3]
            fed = feeds(rows, number)
            if not is_right(fed, found.run(fed)):
                wrong.append((number, turn))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_fields_of_arrays_are_read_from_memory() -> None:
    for array in (np.zeros(()), np.zeros((0, 4), np.int8), np.zeros((4, 5), F)[:, ::2], np.zeros((2, 3)).T):
        assert is_seen(array)
    room = np.zeros(9, np.uint8)
    assert is_seen(room[1:].view(F))
