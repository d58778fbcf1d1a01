"""Vector functions run over arrays, and their error in ulp."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from numpy.typing import NDArray

import sardonyx._src.compile.math
from sardonyx._src.compile.llvm.jit import Library, load
from sardonyx._src.compile.math.function import Definitions, Function
from sardonyx._src.compile.text import Kind

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@cache
def functions() -> dict[str, Function]:
    """Every vector function by its name."""
    package = sardonyx._src.compile.math
    modules = [import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)]
    found = [f for m in modules for f in vars(m).values() if isinstance(f, Function)]
    return {f.name: f for f in found}


def loop(function: Function, lanes: int) -> str:
    """`void run_NAME(ptr y, i64 n, ptr x0, ...)`: y = f(x0, ...) for n elements, a multiple of the lanes."""
    kind = Kind("float", lanes)
    names = [f"x{i}" for i in range(function.arity)]
    lines = [
        f"define void @run_{function.name}(ptr noalias %y, i64 %n, {', '.join(f'ptr %{n}' for n in names)}) {{",
        "entry:",
        " br label %loop",
        "loop:",
        " %i = phi i64 [0, %entry], [%next, %loop]",
    ]
    for name in names:
        lines.append(f" %from_{name} = getelementptr float, ptr %{name}, i64 %i")
        lines.append(f" %lanes_{name} = load {kind}, ptr %from_{name}, align 4")
    lines += [
        f" %result = {function.call(lanes, *(f'%lanes_{n}' for n in names))}",
        " %to = getelementptr float, ptr %y, i64 %i",
        f" store {kind} %result, ptr %to, align 4",
        f" %next = add i64 %i, {lanes}",
        " %more = icmp ult i64 %next, %n",
        " br i1 %more, label %loop, label %done",
        "done:",
        " ret void",
        "}",
    ]
    return "\n".join(lines)


def module(lanes: int, fused: bool) -> tuple[str, list[str]]:
    """The text with loops of all functions, and their names."""
    definitions = Definitions(fused)
    loops = []
    for function in functions().values():
        definitions.need(function, lanes)
        loops.append(loop(function, lanes))
    return "\n".join((definitions.text(), *loops)), [f"run_{name}" for name in functions()]


@cache
def library(lanes: int, fused: bool) -> Library:
    return load(*module(lanes, fused))


def run(name: str, *operands: Sequence[float] | Floats, lanes: int, fused: bool) -> Floats:
    """The function's results for arrays of one length, any."""
    return applied(runner(name, lanes, fused), lanes, *operands)


def applied(call: Callable[..., None], lanes: int, *operands: Sequence[float] | Floats) -> Floats:
    """The results of a loop for arrays of one length, which are padded to a multiple of the lanes."""
    given = [np.ascontiguousarray(x, np.float32).ravel() for x in operands]
    size = given[0].size
    padded = [np.pad(x, (0, -size % lanes)) for x in given]
    y = np.empty(padded[0].size, np.float32)
    if size:
        call(y.ctypes.data, y.size, *(x.ctypes.data for x in padded))
    return y[:size]


@cache
def runner(name: str, lanes: int, fused: bool) -> Callable[..., None]:
    """The loop of a function: addresses of results, count, addresses of operands."""
    return loop_of(library(lanes, fused), name)


def loop_of(library: Library, name: str) -> Callable[..., None]:
    pointers = [ctypes.c_void_p] * functions()[name].arity
    return library.function(f"run_{name}", ctypes.c_void_p, ctypes.c_int64, *pointers)


def ulps(got: Floats, want: Doubles) -> Doubles:
    """How many units in the last place of the exact result each float is away from it.

    A result from 2^128 - 2^103 on is infinity, which counts as 2^128; NaN is 0 away from NaN and infinitely from others.
    """
    top = 2.0**128
    _, exponent = np.frexp(want)
    unit = np.where(want == 0, 2.0**-149, np.ldexp(1.0, np.clip(exponent - 24, -149, 104)))
    with np.errstate(invalid="ignore"):  # of NaN that signals
        error = np.abs(np.clip(got.astype(np.float64), -top, top) - np.clip(want, -top, top)) / unit
    error[np.isnan(got) & np.isnan(want)] = 0
    error[np.isnan(error)] = np.inf
    return error
