"""Runs vector functions over arrays, and measures their error in ulp."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from numpy.typing import NDArray

import sardonyx._src.compile.codegen.math
from sardonyx._src.compile.codegen import LLVMType
from sardonyx._src.compile.codegen.math.function import VectorFunction, VectorFunctionDefinitions
from sardonyx._src.compile.llvm.jit import Library, load

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@cache
def functions() -> dict[str, VectorFunction]:
    """Every vector function by its name."""
    package = sardonyx._src.compile.codegen.math
    modules = [import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)]
    members = [member for m in modules for member in vars(m).values()]
    return {member.name: member for member in members if isinstance(member, VectorFunction)}


def loop(function: VectorFunction, lanes: int) -> str:
    """`void run_NAME(ptr y, i64 n, ptr x0, ...)`: y = f(x0, ...) for n elements, a multiple of the lanes."""
    vector_type = LLVMType("float", lanes)
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
        lines.append(f" %lanes_{name} = load {vector_type}, ptr %from_{name}, align 4")
    lines += [
        f" %result = {function.call(lanes, *(f'%lanes_{n}' for n in names))}",
        " %to = getelementptr float, ptr %y, i64 %i",
        f" store {vector_type} %result, ptr %to, align 4",
        f" %next = add i64 %i, {lanes}",
        " %more = icmp ult i64 %next, %n",
        " br i1 %more, label %loop, label %done",
        "done:",
        " ret void",
        "}",
    ]
    return "\n".join(lines)


def module(lanes: int, has_fma: bool) -> tuple[str, list[str]]:
    """The LLVM module with a loop for each function, and the names of the loops."""
    definitions = VectorFunctionDefinitions(has_fma)
    loops = []
    for function in functions().values():
        definitions.require(function, lanes)
        loops.append(loop(function, lanes))
    return "\n".join((definitions.text(), *loops)), [f"run_{name}" for name in functions()]


@cache
def library(lanes: int, has_fma: bool) -> Library:
    return load(*module(lanes, has_fma))


def run(name: str, *operands: Sequence[float] | Floats, lanes: int, has_fma: bool) -> Floats:
    """The results of a function for arrays of equal length."""
    return apply_loop(runner(name, lanes, has_fma), lanes, *operands)


def apply_loop(call: Callable[..., None], lanes: int, *operands: Sequence[float] | Floats) -> Floats:
    """The results of a loop for arrays of equal length, which are padded to a multiple of the lanes."""
    operands_1d = [np.ascontiguousarray(x, np.float32).ravel() for x in operands]
    size = operands_1d[0].size
    padded = [np.pad(x, (0, -size % lanes)) for x in operands_1d]
    y = np.empty(padded[0].size, np.float32)
    if size:
        call(y.ctypes.data, y.size, *(x.ctypes.data for x in padded))
    return y[:size]


@cache
def runner(name: str, lanes: int, has_fma: bool) -> Callable[..., None]:
    """The loop of a function, called with the address of the results, their number, and the addresses of the operands."""
    return loop_of(library(lanes, has_fma), name)


def loop_of(library: Library, name: str) -> Callable[..., None]:
    pointers = [ctypes.c_void_p] * functions()[name].arity
    return library.function(f"run_{name}", ctypes.c_void_p, ctypes.c_int64, *pointers)


def ulps(actual: Floats, expected: Doubles) -> Doubles:
    """The error of each float in units in the last place of the exact result.

    Results from 2^128 - 2^103 on overflow to infinity, which counts as 2^128; the distance of NaN is 0 from NaN, else infinite.
    """
    top = 2.0**128
    _, exponent = np.frexp(expected)
    unit = np.where(expected == 0, 2.0**-149, np.ldexp(1.0, np.clip(exponent - 24, -149, 104)))
    with np.errstate(invalid="ignore"):  # signaling NaN
        error = np.abs(np.clip(actual.astype(np.float64), -top, top) - np.clip(expected, -top, top)) / unit
    error[np.isnan(actual) & np.isnan(expected)] = 0
    error[np.isnan(error)] = np.inf
    return error
