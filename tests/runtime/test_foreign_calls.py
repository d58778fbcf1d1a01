"""What programs written for other libraries pass to a session: tables, tensors, other orders of arguments, event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sardonyx as sx

X = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture(scope="module")
def session() -> sx.Session:
    b = sx.Builder(21)
    x = b.input("x", "float32", ["N", 2])
    return sx.Session(b.model(y=x + 1, z=x * 2))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((None, {"x": X}), r"write session.run\(feeds\); sardonyx.compat.onnxruntime"),
        ((["y"], {"x": X}), r"write session.run\(feeds, \['y'\]\)"),
        (({"x": X}, "y"), r"write \['y'\]"),
        (([X],), r"write session.run\(\{'x': ...\}\)"),
        ((X,), r"got ndarray: write session.run"),
    ],
)
def test_other_orders_of_arguments_say_what_to_write(
    session: sx.Session, arguments: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        session.run(*arguments)


@pytest.mark.parametrize(
    ("dtype", "cast", "is_taken"),
    [
        (np.float16, "safe", True),
        (np.int16, "safe", True),
        (np.float64, "safe", False),
        (np.float64, "same_kind", True),
        (np.int64, "same_kind", True),
        (np.complex64, "same_kind", False),
        (np.float64, "no", False),
    ],
)
def test_casts_are_made_on_request(session: sx.Session, dtype: type, cast: Any, is_taken: bool) -> None:
    feeds: dict[str, object] = {"x": X.astype(dtype)}
    if is_taken:
        np.testing.assert_array_equal(session.run(feeds, cast=cast)["y"], X + 1)
    else:
        with pytest.raises(sx.InputError, match="'x' must be float"):
            session.run(feeds, cast=cast)


def test_errors_name_the_cast_that_would_do(session: sx.Session) -> None:
    with pytest.raises(sx.InputError, match="or cast='safe'"):
        session.run({"x": X.astype(np.float16)})
    with pytest.raises(sx.InputError, match="cast must be one of"):
        session.run({"x": X}, cast="unsafe")  # type: ignore[arg-type]


class Frame:
    """A data frame, as pandas and polars have them: columns by name that convert to NumPy."""

    def __init__(self, columns: dict[Any, pa.ChunkedArray]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, label: object) -> pa.ChunkedArray:
        return self._columns[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)


def tables() -> list[object]:
    columns = {"age": [30.0, 40.0], "job": ["a", "b"], "other": [1, 2]}
    table = pa.table(
        {name: pa.array(v, pa.float32() if name == "age" else None) for name, v in columns.items()}
    )
    return [table, Frame({name: table[name] for name in columns})]


@pytest.mark.parametrize("table", tables(), ids=["pyarrow", "frame"])
def test_columns_are_fed_by_the_names_of_inputs(table: Any) -> None:
    b = sx.Builder(21)
    age, job = b.input("age", "float32", ["N", 1]), b.input("job", "string", ["N"])
    model = b.model(older=age + 1, task=b.StringConcat(job, "!"))
    results = sx.Session(model).run(table)
    np.testing.assert_array_equal(results["older"], [[31], [41]])
    assert np.asarray(results["task"]).tolist() == ["a!", "b!"]


def test_columns_with_numbers_as_labels_are_fed() -> None:
    """As pandas labels the columns of a matrix."""
    b = sx.Builder(21)
    model = b.model(y=b.input("0", "float32", ["N"]) - b.input("1", "float32", ["N"]))
    columns = {i: pa.chunked_array([pa.array([i + 1, 5], pa.float32())]) for i in range(2)}
    results = sx.Session(model).run(Frame(columns))  # type: ignore[arg-type]  # not in the static types
    np.testing.assert_array_equal(results["y"], [-1, 0])


def test_tables_without_a_column_are_refused(session: sx.Session) -> None:
    with pytest.raises(sx.InputError, match="no column 'x'; the columns are 'age'"):
        session.run(pa.table({"age": [1.0]}))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_texts_name_their_cure(missing: object) -> None:
    b = sx.Builder(21)
    model = b.model(y=b.StringConcat(b.input("x", "string", ["N"]), "!"))
    with pytest.raises(sx.InputError, match=r"element 1 is missing.*fillna"):
        sx.Session(model).run({"x": np.array(["a", missing], object)})


def test_an_input_has_one_column(session: sx.Session) -> None:
    frame = Frame({"x": pa.array([1.0])})
    frame.columns = ["x", "x"]
    with pytest.raises(sx.InputError, match="the table must have one column 'x'; got 2"):
        session.run(frame)  # type: ignore[arg-type]  # not in the static types


@pytest.mark.parametrize(
    ("dtype", "values", "fill"),
    [
        ("int64", np.array([1, np.nan]), r"fillna\(0\).astype\('int64'\)"),
        ("int64", np.array([1, None], object), r"fillna\(0\).astype\('int64'\)"),
        ("bool", np.array([True, None], object), r"fillna\(False\).astype\('bool'\)"),
        ("float32", np.array([1.5, None], object), r"fillna\(float\('nan'\)\).astype\('float32'\)"),
    ],
)
def test_missing_numbers_name_their_cure(dtype: str, values: Any, fill: str) -> None:
    b = sx.Builder(21)
    session = sx.Session(b.model(y=b.Identity(b.input("x", dtype, ["N"]))))
    with pytest.raises(sx.InputError, match=rf"element 1 is missing \((nan|None)\).*{fill}"):
        session.run({"x": values})


class OnAnotherDevice:
    """A tensor in the memory of a graphics card."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("nothing reads it")


def test_memory_of_other_devices_is_refused(session: sx.Session) -> None:
    with pytest.raises(sx.InputError, match="memory of CUDA: copy it to the host"):
        session.run({"x": OnAnotherDevice()})


def test_futures_have_the_results(session: sx.Session) -> None:
    futures = [session.run_async({"x": X + i}, ["y"]) for i in range(8)]
    for i, future in enumerate(futures):
        np.testing.assert_array_equal(future.result()["y"], X + i + 1)
    with pytest.raises(sx.InputError):
        session.run_async({}).result()


def test_coroutines_run_beside_others(session: sx.Session) -> None:
    async def run_many() -> list[dict[str, Any]]:
        return await asyncio.gather(*(session.arun({"x": X + i}) for i in range(8)))

    for i, results in enumerate(asyncio.run(run_many())):
        np.testing.assert_array_equal(results["y"], X + i + 1)


def test_a_task_that_is_cancelled_ends_its_run() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [])
    endless = b.loop(lambda i, c, s: (True, s * 0.5 + 1), x, trip_count=1 << 40)
    session = sx.Session(b.model(y=endless), limits=sx.RunLimits(iterations=1 << 50))

    async def cancel() -> None:
        task = asyncio.create_task(session.arun({"x": np.float32(1)}))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    # The pool's thread is free again: the run has ended.
    assert session.run_async({"x": np.float32(1)}, timeout=0.01).exception(timeout=30) is not None
