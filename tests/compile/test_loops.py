"""Loops: printed, verified, and run by Python."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.compile.loops.ir import Apply, Buffer, For, Kernel, Load, Local, Number, Put, Select, Store
from sardonyx._src.compile.loops.printer import text
from sardonyx._src.compile.loops.runner import run
from sardonyx._src.compile.loops.verify import verify
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol

M, N, i, j = map(symbol, "MNij")
F = DataType.FLOAT


def buffers() -> tuple[Buffer, ...]:
    return Buffer("x", F, M * N, "in"), Buffer("y", F, M, "out")


def sums(vector: bool = True) -> Kernel:
    """The sum of each row, of what is not negative."""
    x = Load("x", i * N + j)
    positive = Select("lt", x, Number(0), Number(0), x)
    inner = For("j", N, (Put("total", Apply("add", (Local("total"), positive))),), vector)
    row = For("i", M, (Put("total", Number(0)), inner, Store("y", i, Local("total"))))
    return Kernel("sums", buffers(), ("M", "N"), (row,))


def test_a_kernel_is_printed_a_statement_a_line() -> None:
    assert (
        text(sums())
        == """sums(in x: float[M*N], out y: float[M], M, N)
  for i < M:
    total = 0
    vector for j < N:
      total = (total + (0 if x[i*N+j] < 0 else x[i*N+j]))
    y[i] = total
""".replace("i*N+j", str(i * N + j))
    )


def test_a_kernel_is_run() -> None:
    x, y = np.array([[1, -2, 3], [4, 5, -6]], np.float32), np.zeros(2, np.float32)
    verify(sums())
    run(sums(), {"x": x, "y": y}, {"M": 2, "N": 3})
    assert y.tolist() == [4, 9]


def broken(**changes: object) -> Kernel:
    body = For("i", M, (Store("y", i, Load("x", i * N)),))
    return Kernel("broken", buffers(), ("M", "N"), (changes.get("body", body),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (For("i", M, (Store("y", i + 1, Number(0)),)), r"y\[i\+1\] may reach M, behind M elements"),
        (For("i", M, (Store("y", i - 1, Number(0)),)), "may lie before the buffer"),
        (For("i", M, (Store("x", i * N, Number(0)),)), "x is only read"),
        (For("i", M, (Store("y", i, Local("t")),)), "t is not known yet"),
        (For("i", M, (Store("y", j, Number(0)),)), r"uses \['j'\], which nothing defines"),
        (For("M", M, ()), "M is taken"),
    ],
)
def test_a_kernel_that_is_not_whole_is_refused(body: For, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        verify(broken(body=body))


def test_a_vector_loop_may_fold_and_nothing_else() -> None:
    last = Put("last", Load("x", i))
    kernel = Kernel(
        "k", buffers(), ("M", "N"), (Put("last", Number(0)), For("i", M * N, (last,), vector=True))
    )
    with pytest.raises(AssertionError, match="last changes in the vector loop i"):
        verify(kernel)


def test_units_of_work_hand_nothing_on() -> None:
    change = Put("total", Apply("add", (Local("total"), Load("x", i * N))))
    whole = (Put("total", Number(0)), For("i", M, (change,), parallel=True))
    with pytest.raises(AssertionError, match=r"\['total'\] change in the parallel loop i"):
        verify(Kernel("k", buffers(), ("M", "N"), whole))
    inner = For("i", M, (For("j", N, (), parallel=True),))
    with pytest.raises(AssertionError, match="the parallel loop j is inside of another one"):
        verify(Kernel("k", buffers(), ("M", "N"), (inner,)))
    twice = (For("i", M, (), parallel=True), For("j", N, ()))
    with pytest.raises(AssertionError, match="k does more than its parallel loop"):
        verify(Kernel("k", buffers(), ("M", "N"), twice))


def test_units_are_the_iterations_of_the_parallel_loop() -> None:
    assert sums().units == 1
    assert Kernel("k", buffers(), ("M", "N"), (For("i", M, (), parallel=True),)).units == M


def test_nothing_runs_where_there_is_nothing() -> None:
    y = np.ones(2, np.float32)
    run(sums(), {"x": np.zeros(0, np.float32), "y": y}, {"M": 2, "N": 0})
    assert y.tolist() == [0, 0]
