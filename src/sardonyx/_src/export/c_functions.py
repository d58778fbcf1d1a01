"""The functions of the C library that LLVM calls, in LLVM text: a library has them itself, as hidden functions.

LLVM copies and clears memory by calls, and calls the functions that round on processors without the instructions: the
classes x86-64 and riscv64.  C11, 7.12.9, defines them; the exact results are those of IEEE 754, 5.9.
"""

from __future__ import annotations

from collections.abc import Callable

CHUNK_BYTES = 64  # bytes that a copy moves at a time, a cache line
ATTRIBUTES = 'nounwind "no-builtins"'  # LLVM must not replace a loop by a call of the function that it is in
# Type, the type of its bits, and 2 to the number of its fraction bits: greater numbers are integers.
FLOATS = {"f": ("float", "i32", "0x4160000000000000"), "": ("double", "i64", "0x4330000000000000")}


def c_function(name: str) -> str:
    """The LLVM module of one of `linker.system.LIBC_FUNCTIONS`."""
    if name in MEMORY_FUNCTIONS:
        return MEMORY_FUNCTIONS[name]()
    suffix = "f" if name.endswith("f") else ""
    return rounding_function(name, name.removesuffix("f"), suffix)


def copy_loop(name: str, *, is_backward: bool) -> str:
    """A function that copies chunks, then bytes: from the first on, or backward from the last on."""
    step = "sub" if is_backward else "add"
    first, last = ("%n", "0") if is_backward else ("0", "%n")

    def loop(label: str, size: int, begin: str, before: str, after: str) -> str:
        # Forward, a piece begins at i; backward, it ends there.
        room = (
            f" %{label}_left = sub i64 %{label}_i, {last}"
            if is_backward
            else f" %{label}_left = sub i64 {last}, %{label}_i"
        )
        place = f"%{label}_next" if is_backward else f"%{label}_i"
        kind = f"<{size} x i8>" if size > 1 else "i8"
        return f"""\
{label}:
 %{label}_i = phi i64 [ {begin}, %{before} ], [ %{label}_next, %{label}_body ]
{room}
 %{label}_fits = icmp uge i64 %{label}_left, {size}
 %{label}_next = {step} i64 %{label}_i, {size}
 br i1 %{label}_fits, label %{label}_body, label %{after}
{label}_body:
 %{label}_from = getelementptr i8, ptr %b, i64 {place}
 %{label}_to = getelementptr i8, ptr %a, i64 {place}
 %{label}_piece = load {kind}, ptr %{label}_from, align 1
 store {kind} %{label}_piece, ptr %{label}_to, align 1
 br label %{label}
"""

    return f"""\
define hidden ptr @{name}(ptr %a, ptr %b, i64 %n) {ATTRIBUTES} {{
entry:
 br label %chunks
{loop("chunks", CHUNK_BYTES, first, "entry", "bytes")}{loop("bytes", 1, "%chunks_i", "chunks", "done")}done:
 ret ptr %a
}}
"""


def memory_copy() -> str:
    return copy_loop("memcpy", is_backward=False)


def memory_move() -> str:
    """`memmove`: forward unless the destination begins within the source."""
    forward = copy_loop("copy_forward", is_backward=False).replace("hidden", "internal")
    backward = copy_loop("copy_backward", is_backward=True).replace("hidden", "internal")
    return f"""\
{forward}{backward}define hidden ptr @memmove(ptr %a, ptr %b, i64 %n) {ATTRIBUTES} {{
 %to = ptrtoint ptr %a to i64
 %from = ptrtoint ptr %b to i64
 %distance = sub i64 %to, %from
 %is_within = icmp ult i64 %distance, %n
 br i1 %is_within, label %backward, label %forward
backward:
 %x = call ptr @copy_backward(ptr %a, ptr %b, i64 %n)
 ret ptr %a
forward:
 %y = call ptr @copy_forward(ptr %a, ptr %b, i64 %n)
 ret ptr %a
}}
"""


def memory_set() -> str:
    return f"""\
define hidden ptr @memset(ptr %a, i32 %value, i64 %n) {ATTRIBUTES} {{
entry:
 %byte = trunc i32 %value to i8
 br label %head
head:
 %i = phi i64 [ 0, %entry ], [ %next, %body ]
 %is_inside = icmp ult i64 %i, %n
 br i1 %is_inside, label %body, label %done
body:
 %to = getelementptr i8, ptr %a, i64 %i
 store volatile i8 %byte, ptr %to, align 1
 %next = add i64 %i, 1
 br label %head
done:
 ret ptr %a
}}
"""


MEMORY_FUNCTIONS: dict[str, Callable[[], str]] = {
    "memcpy": memory_copy,
    "memmove": memory_move,
    "memset": memory_set,
}


def rounding_function(name: str, kind: str, suffix: str) -> str:
    """A function that rounds to an integer.

    Adding 2^52 (float: 2^23) to the magnitude and subtracting it again rounds it to nearest even; a result that is on the
    wrong side is corrected by one.  The sign, of zeros too, is that of the argument.  Integers, infinities and NaN stay.
    """
    float_type, _, limit = FLOATS[suffix]
    intrinsic = {"float": "f32", "double": "f64"}[float_type]
    corrected = {
        "roundeven": " %rounded = fadd T %nearest, 0.0",
        "trunc": " %is_past = fcmp ogt T %nearest, %size\n %less = fsub T %nearest, 1.0\n"
        " %rounded = select i1 %is_past, T %less, T %nearest",
        "floor": " %is_past = fcmp ogt T %signed, %x\n %less = fsub T %signed, 1.0\n"
        " %rounded = select i1 %is_past, T %less, T %signed",
        "ceil": " %is_past = fcmp olt T %signed, %x\n %more = fadd T %signed, 1.0\n"
        " %rounded = select i1 %is_past, T %more, T %signed",
    }[kind]
    text = f"""\
declare T @llvm.fabs.S(T)
declare T @llvm.copysign.S(T, T)
define hidden T @{name}(T %x) {ATTRIBUTES} {{
 %size = call T @llvm.fabs.S(T %x)
 %is_small = fcmp olt T %size, {limit}
 br i1 %is_small, label %round, label %same
same:
 ret T %x
round:
 %sum = fadd T %size, {limit}
 %nearest = fsub T %sum, {limit}
 %signed = call T @llvm.copysign.S(T %nearest, T %x)
{corrected}
 %result = call T @llvm.copysign.S(T %rounded, T %x)
 ret T %result
}}
"""
    return (
        text.replace("T ", f"{float_type} ")
        .replace("(T)", f"({float_type})")
        .replace("(T,", f"({float_type},")
        .replace(" T)", f" {float_type})")
        .replace(".S(", f".{intrinsic}(")
    )
