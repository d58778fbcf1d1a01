"""AMX tiles on processors without them: LLVM functions in place of the intrinsics, and the contents of the tiles in memory.

As in the processor, rows and bytes beyond the configured ones are neither read nor written, and are zeros in the tiles, so
that products may add all of a tile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from compile import checked_runs, guarded
from compile.amx_features import without_amx
from compile.kernel_objects import load_module
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.jit import Library

INTRINSIC = re.compile(r"@llvm\.x86\.(ldtilecfg|tile\w+|tdp\w+)\(")
DECLARATION = re.compile(rf"^declare void {INTRINSIC.pattern}.*$", re.MULTILINE)
LANES = ", ".join(f"i64 {lane}" for lane in range(16))


def with_emulated_amx(target: Target) -> Target:
    """The target with AMX, for kernels that run in `emulated_amx`."""
    features = f"{without_amx(target.features)},+amx-tile,+amx-int8,+amx-bf16"
    return replace(target, lanes=16, registers=32, features=features)


@contextmanager
def emulated_amx() -> Iterator[None]:
    """Kernels of `guarded.run` have emulated tiles."""

    def load(text: str, names: Sequence[str], *, quick: bool = False) -> Library:
        return load_module(emulate(text), names, quick=quick)

    with patch.object(guarded, "load_module", load), patch.object(checked_runs, "load_module", load):
        yield


def emulate(text: str) -> str:
    """The module with functions in place of the intrinsics."""
    used = {match[1] for match in INTRINSIC.finditer(text)}
    if not used:
        return text
    called = INTRINSIC.sub(r"@emulated_\1(", DECLARATION.sub("", text))
    functions = {**FUNCTIONS, **{name: product_function(name) for name in used if name.startswith("tdp")}}
    masked_load = "declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)"
    masked_store = "declare void @llvm.masked.store.v16i32.p0(<16 x i32>, ptr, i32, <16 x i1>)"
    declarations = [line for line in (masked_load, masked_store) if line.partition("(")[0] not in called]
    return "\n".join((called, *declarations, STATE, *(functions[name] for name in sorted(used))))


def row_loop(parameters: str, head: str, body: str) -> str:
    """The body of a function with a loop over the 16 rows of a tile, %r."""
    return f"""({parameters}) noinline nounwind {{
entry:
{head}
 br label %row
row:
 %r = phi i64 [ 0, %entry ], [ %next, %end ]
{body}
 br label %end
end:
 %next = add i64 %r, 1
 %more = icmp ult i64 %next, 16
 br i1 %more, label %row, label %done
done:
 ret void
}}"""


STATE = """
@amx_tiles = internal global [8 x [16 x [16 x i32]]] zeroinitializer, align 64
@amx_config = internal global [64 x i8] zeroinitializer, align 64

define internal i64 @amx_rows(i8 %tile) noinline nounwind {
 %i = zext i8 %tile to i64
 %at = add i64 %i, 48
 %address = getelementptr i8, ptr @amx_config, i64 %at
 %rows = load i8, ptr %address
 %result = zext i8 %rows to i64
 ret i64 %result
}

define internal i64 @amx_words(i8 %tile) noinline nounwind {
 %i = zext i8 %tile to i64
 %address = getelementptr i16, ptr getelementptr (i8, ptr @amx_config, i64 16), i64 %i
 %bytes = load i16, ptr %address
 %words = lshr i16 %bytes, 2
 %result = zext i16 %words to i64
 ret i64 %result
}
"""
TILE = """ %t = zext i8 %tile to i64
 %start = getelementptr [16 x [16 x i32]], ptr @amx_tiles, i64 %t"""
ACTIVE_LANES = f"""{TILE}
 %rows = call i64 @amx_rows(i8 %tile)
 %words = call i64 @amx_words(i8 %tile)
 %one = insertelement <16 x i64> poison, i64 %words, i32 0
 %splat = shufflevector <16 x i64> %one, <16 x i64> poison, <16 x i32> zeroinitializer
 %lanes = icmp ult <16 x i64> <{LANES}>, %splat"""
ADDRESSES = """ %is_row = icmp ult i64 %r, %rows
 %mask = select i1 %is_row, <16 x i1> %lanes, <16 x i1> zeroinitializer
 %offset = mul i64 %r, %stride
 %memory = getelementptr i8, ptr %base, i64 %offset
 %slot = getelementptr [16 x i32], ptr %start, i64 %r"""
FUNCTIONS = {
    "ldtilecfg": """define internal void @emulated_ldtilecfg(ptr %config) noinline nounwind {
 %bytes = load <64 x i8>, ptr %config, align 1
 store <64 x i8> %bytes, ptr @amx_config, align 64
 store [8 x [16 x [16 x i32]]] zeroinitializer, ptr @amx_tiles
 ret void
}""",
    "tilerelease": """define internal void @emulated_tilerelease() noinline nounwind {
 store <64 x i8> zeroinitializer, ptr @amx_config, align 64
 ret void
}""",
    "tilezero": "define internal void @emulated_tilezero"
    + row_loop(
        "i8 %tile",
        TILE,
        """ %slot = getelementptr [16 x i32], ptr %start, i64 %r
 store <16 x i32> zeroinitializer, ptr %slot""",
    ),
    "tileloadd64": "define internal void @emulated_tileloadd64"
    + row_loop(
        "i8 %tile, ptr %base, i64 %stride",
        ACTIVE_LANES,
        f"""{ADDRESSES}
 %loaded = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr %memory, i32 1, <16 x i1> %mask, <16 x i32> zeroinitializer)
 store <16 x i32> %loaded, ptr %slot""",
    ),
    "tilestored64": "define internal void @emulated_tilestored64"
    + row_loop(
        "i8 %tile, ptr %base, i64 %stride",
        ACTIVE_LANES,
        f"""{ADDRESSES}
 %value = load <16 x i32>, ptr %slot
 call void @llvm.masked.store.v16i32.p0(<16 x i32> %value, ptr %memory, i32 1, <16 x i1> %mask)""",
    ),
}


def product_function(name: str) -> str:
    """A product of tiles: for row, for word k of the row: add the products of the word and row k of the other tile."""
    tiles = "\n".join(
        f""" %{tile}_number = zext i8 %{tile} to i64
 %{tile}_start = getelementptr [16 x [16 x i32]], ptr @amx_tiles, i64 %{tile}_number"""
        for tile in "dab"
    )
    body = f""" %d_row = getelementptr [16 x i32], ptr %d_start, i64 %r
 %a_row = getelementptr [16 x i32], ptr %a_start, i64 %r
 br label %term
term:
 %k = phi i64 [ 0, %row ], [ %next_k, %term ]
 %word_at = getelementptr i32, ptr %a_row, i64 %k
 %word = load i32, ptr %word_at
 %one = insertelement <16 x i32> poison, i32 %word, i32 0
 %left = shufflevector <16 x i32> %one, <16 x i32> poison, <16 x i32> zeroinitializer
 %b_row = getelementptr [16 x i32], ptr %b_start, i64 %k
 %right = load <16 x i32>, ptr %b_row
{bf16_terms() if name == "tdpbf16ps" else int8_terms(is_signed=name == "tdpbssd")}
 %next_k = add i64 %k, 1
 %more_k = icmp ult i64 %next_k, 16
 br i1 %more_k, label %term, label %last
last:"""
    return f"define internal void @emulated_{name}" + row_loop("i8 %d, i8 %a, i8 %b", tiles, body)


def int8_terms(*, is_signed: bool) -> str:
    """Adds the products of the four bytes of the words, signed or not on the left, in int32."""
    lines, total = [" %sum0 = load <16 x i32>, ptr %d_row"], 0
    for byte in range(4):
        for side, right_shift in (("left", "ashr" if is_signed else "lshr"), ("right", "ashr")):
            lines.append(f" %{side}_high{byte} = shl <16 x i32> %{side}, splat (i32 {24 - 8 * byte})")
            lines.append(f" %{side}{byte} = {right_shift} <16 x i32> %{side}_high{byte}, splat (i32 24)")
        lines.append(f" %product{byte} = mul <16 x i32> %left{byte}, %right{byte}")
        total = byte + 1
        lines.append(f" %sum{total} = add <16 x i32> %sum{byte}, %product{byte}")
    return "\n".join((*lines, f" store <16 x i32> %sum{total}, ptr %d_row"))


def bf16_terms() -> str:
    """Adds the products of the two bfloat16 of the words, in float32."""
    lines = [" %sum0 = load <16 x float>, ptr %d_row"]
    for part in range(2):
        for side in ("left", "right"):
            high = (
                f"shl <16 x i32> %{side}, splat (i32 16)"
                if part == 0
                else f"and <16 x i32> %{side}, splat (i32 -65536)"
            )
            lines.append(f" %{side}_bits{part} = {high}")
            lines.append(f" %{side}{part} = bitcast <16 x i32> %{side}_bits{part} to <16 x float>")
        lines.append(f" %product{part} = fmul <16 x float> %left{part}, %right{part}")
        lines.append(f" %sum{part + 1} = fadd <16 x float> %sum{part}, %product{part}")
    return "\n".join((*lines, " store <16 x float> %sum2, ptr %d_row"))
