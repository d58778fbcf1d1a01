"""How fast are the vector math functions of the native engine, and how large is their error over all floats?

    python bench/vector_math.py [NAME ...]            # elements per ns on one core, compared with NumPy and PyTorch
    python bench/vector_math.py --errors [NAME ...]   # the largest error over all 2^32 floats, a minute per function
    python bench/vector_math.py --errors --unfused    # the same for the code for processors without FMA

Errors are relative to the C library in double precision, called in a native loop.  For functions that are monotonic,
the report also counts the neighboring floats at which the result falls.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from measure import commit, machine
from sardonyx._src.compile.codegen import FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.llvm.jit import host_target, load

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compile.vector_runs import functions, runner

CHUNK = 1 << 18
DOUBLE = LLVMType("double")
Pointer, Count = ctypes.c_void_p, ctypes.c_int64


def libm(name: str, *operands: LLVMValue) -> LLVMValue:
    """A call of the C library's function of doubles."""
    code = operands[0].builder
    code.declarations[f"declare double @{name}({', '.join(['double'] * len(operands))})"] = None
    return code.emit(DOUBLE, f"call double @{name}({', '.join(map(str, operands))})")


def sigmoid(x: LLVMValue) -> LLVMValue:
    small = libm("exp", -x.builder.fabs(x))
    return x.builder.select(x < 0, small, x.builder.constant(1, DOUBLE)) / (small + 1)


def softplus(x: LLVMValue) -> LLVMValue:
    return libm("log1p", libm("exp", -x.builder.fabs(x))) + x.clamp_min(0)


def mish(x: LLVMValue) -> LLVMValue:
    w = libm("exp", x.clamp_max(100))
    return x * (w * (w + 2) / (w * (w + 2) + 2))


def gelu(x: LLVMValue) -> LLVMValue:
    product = x * 0.5 * libm("erfc", x * -(0.5**0.5))
    return x.builder.select(x.eq(np.inf), x, product)


def libm_function(name: str) -> Callable[[LLVMValue], LLVMValue]:
    """A function of the C library, as a function of a double."""
    return lambda x: libm(name, x)


LIBM_NAMES = (
    "exp exp2 expm1 log log1p erf sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt".split()
)
EXACT: dict[str, Callable[[LLVMValue], LLVMValue]] = {
    **{name: libm_function(name) for name in LIBM_NAMES},
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "softplus": softplus,
    "mish": mish,
    "gelu": gelu,
    "rsqrt": lambda x: 1 / libm("sqrt", x),
    "reciprocal": lambda x: 1 / x,
    "round_half_even": lambda x: libm("rint", x),
    "floor": lambda x: libm("floor", x),
    "ceil": lambda x: libm("ceil", x),
}
RISING = set(
    "exp exp2 expm1 log log1p asin atan sinh tanh asinh acosh atanh erf sigmoid softplus sqrt".split()
)
NUMPY = {
    **{
        name: getattr(np, name)
        for name in "exp exp2 expm1 log log1p tanh sin cos sqrt floor ceil reciprocal".split()
    },
    "round_half_even": np.rint,
    "pow": np.power,
}


def exact_loop(name: str) -> str:
    """`void exact(i32 first, i64 n, ptr x, ptr y)`: the floats whose bits count up from `first`, and f of them."""
    code = FunctionBuilder(has_fma=True)
    x = LLVMValue(code, LLVMType("float"), "%x")
    result = EXACT[name](x.convert("fpext", "double"))
    body = "\n".join(code.lines)
    return (
        "\n".join(code.declarations)
        + f"""
define void @exact(i32 %first, i64 %n, ptr noalias %xs, ptr noalias %ys) {{
entry:
 br label %loop
loop:
 %i = phi i64 [0, %entry], [%next, %loop]
 %step = trunc i64 %i to i32
 %bits = add i32 %first, %step
 %x = bitcast i32 %bits to float
{body}
 %at = getelementptr float, ptr %xs, i64 %i
 store float %x, ptr %at
 %to = getelementptr double, ptr %ys, i64 %i
 store double {result.name}, ptr %to
 %next = add i64 %i, 1
 %more = icmp ult i64 %next, %n
 br i1 %more, label %loop, label %done
done:
 ret void
}}"""
    )


def ulps(got: LLVMValue, want: LLVMValue) -> LLVMValue:
    """The error in units of the last place of the exact result; 0 where both are NaN."""
    code = got.builder
    top = 2.0**128
    exponent = ((want.bitcast() >> 52) & 2047) - 1023
    lowest, highest = (code.constant(number, exponent.type) for number in (-126, 127))
    exponent = code.call_intrinsic("smin", code.call_intrinsic("smax", exponent, lowest), highest)
    per_unit = ((1023 + 23 - exponent) << 52).bitcast()
    error = code.fabs(got.clamp_max(top).clamp_min(-top) - want.clamp_max(top).clamp_min(-top)) * per_unit
    error = code.select(error.eq(error), error, code.constant(np.inf, error.type))
    return code.select(got.ne(got) & want.ne(want), 0, error)


def error_loop() -> str:
    """`void errors(i64 n, ptr got, ptr want, ptr error)`: in ulp, for n elements, a multiple of 8."""
    code = FunctionBuilder(has_fma=True)
    got = LLVMValue(code, LLVMType("float", 8), "%got").convert("fpext", "double")
    result = ulps(got, LLVMValue(code, LLVMType("double", 8), "%want"))
    body = "\n".join(code.lines)
    return (
        "\n".join(code.declarations)
        + f"""
define void @errors(i64 %n, ptr %gots, ptr %wants, ptr noalias %errors) {{
entry:
 br label %loop
loop:
 %i = phi i64 [0, %entry], [%next, %loop]
 %from = getelementptr float, ptr %gots, i64 %i
 %got = load <8 x float>, ptr %from, align 4
 %exact = getelementptr double, ptr %wants, i64 %i
 %want = load <8 x double>, ptr %exact, align 8
{body}
 %to = getelementptr double, ptr %errors, i64 %i
 store <8 x double> {result.name}, ptr %to, align 8
 %next = add i64 %i, 8
 %more = icmp ult i64 %next, %n
 br i1 %more, label %loop, label %done
done:
 ret void
}}"""
    )


def largest_error(name: str, has_fma: bool) -> dict[str, object]:
    """The largest error over all floats, its argument, and the number of neighbors in the wrong order."""
    exact = load(exact_loop(name), ["exact"]).function("exact", ctypes.c_uint32, Count, Pointer, Pointer)
    errors = load(error_loop(), ["errors"]).function("errors", Count, Pointer, Pointer, Pointer)
    run = runner(name, host_target().lanes, has_fma)
    x, got = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.float32)
    want, error = np.empty(CHUNK), np.empty(CHUNK)
    worst, argument, falls = -1.0, np.float32(0), 0
    start = time.perf_counter()
    for first in range(0, 1 << 32, CHUNK):
        exact(first, CHUNK, x.ctypes.data, want.ctypes.data)
        run(got.ctypes.data, CHUNK, x.ctypes.data)
        errors(CHUNK, got.ctypes.data, want.ctypes.data, error.ctypes.data)
        place = int(error.argmax())
        if error[place] > worst:
            worst, argument = float(error[place]), x[place]
        if name in RISING:
            steps = (got[1:] < got[:-1]) if first < 1 << 31 else (got[1:] > got[:-1])
            falls += int(np.count_nonzero(steps))
    report: dict[str, object] = {
        "what": name,
        "fused": has_fma,
        "ulp": round(worst, 4),
        "at": float(argument),
    }
    if name in RISING:
        report["falls"] = falls
    return {**report, "seconds": round(time.perf_counter() - start, 1)}


def speeds(name: str, size: int = 4096, turns: int = 200) -> dict[str, object]:
    """Median elements per nanosecond on data in the L1 cache, the tools run in turn."""
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.1, 8, size).astype(np.float32) for _ in range(functions()[name].arity)]
    if name in ("asin", "acos", "atanh"):
        operands[0] = rng.uniform(-1, 1, size).astype(np.float32)
    elif name not in ("log", "log1p", "sqrt", "rsqrt", "pow", "acosh"):
        operands[0] = rng.normal(0, 2, size).astype(np.float32)
    out = np.empty(size, np.float32)
    call = runner(name, host_target().lanes, host_target().has_fma)
    addresses = [out.ctypes.data, size, *(x.ctypes.data for x in operands)]
    tools: dict[str, Callable[[], object]] = {"sardonyx": lambda: call(*addresses)}
    ufunc = NUMPY.get(name)
    if ufunc is not None:
        tools["numpy"] = lambda: ufunc(*operands, out=out)
    tools.update(torch_tool(name, operands, out))
    seconds: dict[str, list[float]] = {tool: [] for tool in tools}
    for _ in range(turns):
        for tool, work in tools.items():
            start = time.perf_counter()
            work()
            seconds[tool].append(time.perf_counter() - start)
    rates = {tool: round(size / statistics.median(s) / 1e9, 2) for tool, s in seconds.items()}
    return {"what": name, "elements": size, "elements/ns": rates, "n": turns}


def torch_tool(name: str, operands: list[np.ndarray], out: np.ndarray) -> dict[str, Callable[[], object]]:
    """PyTorch's function on one thread, if it is installed and has one of that name."""
    if importlib.util.find_spec("torch") is None:
        return {}
    import torch

    torch.set_num_threads(1)
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name, None)
    if function is None:
        return {}
    tensors = [torch.from_numpy(x) for x in operands]
    return {"torch": lambda: function(*tensors)}


def chosen(names: list[str], known: Iterable[str]) -> list[str]:
    everything = list(known)
    unknown = [name for name in names if name not in everything]
    if unknown:
        sys.exit(f"NAME must be one of {' '.join(everything)}; got {unknown[0]}")
    return names or everything


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--unfused", action="store_true")
    options = parser.parse_args()
    has_fma = host_target().has_fma and not options.unfused
    for name in chosen(options.names, EXACT if options.errors else functions()):
        row = largest_error(name, has_fma) if options.errors else speeds(name)
        print(json.dumps({**row, "commit": commit(), "machine": machine()}), flush=True)


if __name__ == "__main__":
    main()
