"""Probes of instructions that only some classes of processors have: dot products, matrices, permutations of a run's indices."""

from __future__ import annotations

from fractions import Fraction

from probes.exact import BFLOAT, SINGLE, Format, round_even, round_to, value_of
from probes.probe import COUNT, Column, Condition, Probe, column, has
from probes.samples import floats, integers, signed

BYTE_GROUP = 4  # products that a dot product of bytes adds
VNNI_BITS = {"avx512vnni": 512, "avxvnni": 256}


def slices(name: str, vector: Column, part: int, parts: int) -> tuple[str, str]:
    """The name and the text of a part of an input, a vector of its own."""
    size = len(vector.bits) // parts
    indices = ", ".join(f"i32 {i}" for i in range(part * size, part * size + size))
    result = f"{name}_{part}"
    text = f"{result} = shufflevector {vector.vector()} {name}, {vector.vector()} poison, <{size} x i32> <{indices}>"
    return result, text


def by_parts(
    name: str,
    function: str,
    columns: tuple[Column, ...],
    expected: Column,
    parts: int,
    applies: Condition,
    constants: str = "",
) -> Probe:
    """A probe of an intrinsic on vectors of the `parts`-th part of the columns.

    constants: further arguments of each call, with their types.
    """
    lines, size = [], len(expected.bits) // parts
    result_type = f"<{size} x {expected.type}>"
    types = [f"<{len(c.bits) // parts} x {c.type}>" for c in columns]
    for part in range(parts):
        arguments = [constants] if constants else []
        for i, (values, type) in reversed([*enumerate(zip(columns, types, strict=True))]):
            operand, text = slices(f"%x{i}", values, part, parts)
            lines.append(text)
            arguments.insert(0, f"{type} {operand}")
        lines.append(f"%r{part} = call {result_type} @{function}({', '.join(arguments)})")
        place = f"%place{part} = getelementptr {expected.type}, ptr %out, i64 {part * size}"
        lines += [place, f"store {result_type} %r{part}, ptr %place{part}, align 1"]
    types += [part.rpartition(" ")[0] for part in constants.split(", ")] if constants else []
    declaration = (result_type, function, ", ".join(types))
    return Probe(name, columns, expected, "\n".join(lines), applies, (declaration,), stores=True)


# --- dot products of integers ----------------------------------------------------------------


def dot_operands(
    left: tuple[int, int], right: tuple[int, int], group: int
) -> tuple[list[int], list[int], list[int]]:
    """Integers of which the first groups are extreme, and sums to which their products are added."""
    a, b = [], []
    for extremes in ((left[0], right[0]), (left[0], right[1]), (left[1], right[0]), (left[1], right[1])):
        a += [extremes[0]] * group
        b += [extremes[1]] * group
    size = COUNT * group - len(a)
    for seed in range(-(-size // COUNT)):
        a += integers(0, 50 + seed, left[0], left[1] + 1)
        b += integers(0, 70 + seed, right[0], right[1] + 1)
    return a[: COUNT * group], b[: COUNT * group], integers(32, 90, -(1 << 30), 1 << 30)


def dots(a: list[int], b: list[int], totals: list[int], group: int) -> list[int]:
    products = [x * y for x, y in zip(a, b, strict=True)]
    return [total + sum(products[group * i : group * i + group]) for i, total in enumerate(totals)]


def byte_dot(feature: str) -> Probe:
    """Sums of four products of unsigned and signed bytes; in 16 bits they would overflow."""
    a, b, totals = dot_operands((0, 255), (-128, 127), BYTE_GROUP)
    bits = VNNI_BITS[feature]
    return by_parts(
        f"vpdpbusd {bits}",
        f"llvm.x86.avx512.vpdpbusd.{bits}",
        (column("i32", totals), column("i8", a), column("i8", b)),
        column("i32", dots(a, b, totals, BYTE_GROUP)),
        COUNT * 32 // bits,
        has(feature),
    )


def pair_dot(bits: int, function: str, feature: str) -> Probe:
    """Sums of two products of signed 16-bit integers, of which the greatest overflows the 32 bits of its sum."""
    a, b, totals = dot_operands((-32768, 32767), (-32768, 32767), 2)
    zeros = [0] * len(totals)
    return by_parts(
        f"pmaddwd {bits}",
        function,
        (column("i16", a), column("i16", b)),
        column("i32", [signed(total, 32) for total in dots(a, b, zeros, 2)]),
        COUNT * 32 // bits,
        has(feature),
    )


def byte_pair_dot(bits: int, function: str, feature: str) -> Probe:
    """Sums of two products of unsigned and signed bytes in 16 bits, with saturation."""
    a, b, totals = dot_operands((0, 255), (-128, 127), 2)
    sums = dots(a, b, [0] * len(totals), 2)
    return by_parts(
        f"pmaddubsw {bits}",
        function,
        (column("i8", a), column("i8", b)),
        column("i16", [max(-(1 << 15), min(total, (1 << 15) - 1)) for total in sums]),
        COUNT * 16 // bits,
        has(feature),
    )


def arm_dot(kind: str) -> Probe:
    left, right = {"sdot": ((-128, 127),) * 2, "udot": ((0, 255),) * 2, "usdot": ((0, 255), (-128, 127))}[
        kind
    ]
    a, b, totals = dot_operands(left, right, BYTE_GROUP)
    return by_parts(
        kind,
        f"llvm.aarch64.neon.{kind}.v4i32.v16i8",
        (column("i32", totals), column("i8", a), column("i8", b)),
        column("i32", dots(a, b, totals, BYTE_GROUP)),
        COUNT // 4,
        has("i8mm" if kind == "usdot" else "dotprod"),
    )


def arm_matrix() -> Probe:
    """2 x 2 sums of products of two rows of 8 signed bytes each."""
    a, b, totals = dot_operands((-128, 127), (-128, 127), BYTE_GROUP)
    expected = []
    for i in range(0, COUNT, 4):
        rows, columns = ([c[4 * i + 8 * j : 4 * i + 8 * j + 8] for j in (0, 1)] for c in (a, b))
        sums = [sum(x * y for x, y in zip(r, c, strict=True)) for r in rows for c in columns]
        expected += [total + dot for total, dot in zip(totals[i : i + 4], sums, strict=True)]
    return by_parts(
        "smmla",
        "llvm.aarch64.neon.smmla.v4i32.v16i8",
        (column("i32", totals), column("i8", a), column("i8", b)),
        column("i32", expected),
        COUNT // 4,
        has("i8mm"),
    )


# --- bfloat16 and AMX ------------------------------------------------------------------------


def bfloat_conversion() -> Probe:
    """Two vectors of float32 to one of bfloat16, of which the first half are those of the second operand."""
    a = floats(SINGLE, 100, 30, specials=False)
    a[::4] = [bits & ~0xFFFF | 0x8000 for bits in a[::4]]  # in the middle of two
    halves = [[(16 * (2 * i + j) + k) for i in range(2) for k in range(16)] for j in range(2)]
    second, first = ([a[i] for i in half] for half in halves)
    expected = [round_to(value_of(bits, SINGLE), BFLOAT) for bits in a]
    return by_parts(
        "vcvtne2ps2bf16",
        "llvm.x86.avx512bf16.cvtne2ps2bf16.512",
        (column("float", first), column("float", second)),
        column("bfloat", expected),
        2,
        has("avx512bf16"),
    )


def bfloat_dot() -> Probe:
    """Sums of two products of integers, which are exact in any order."""
    a, b = ([*integers(0, 101 + i, -99, 99), *integers(0, 103 + i, -99, 99)] for i in range(2))
    totals = integers(0, 105, -999, 999)
    columns = (
        column("float", encoded(totals, SINGLE)),
        *(column("bfloat", encoded(x, BFLOAT)) for x in (a, b)),
    )
    expected = column("float", encoded(dots(a, b, totals, 2), SINGLE))
    return by_parts("vdpbf16ps", "llvm.x86.avx512bf16.dpbf16ps.512", columns, expected, 4, has("avx512bf16"))


def encoded(values: list[int], format: Format) -> list[int]:
    """The bits of integers in a format that has them all."""
    return [round_to(Fraction(value), format) for value in values]


TILE_CONFIG = """
    %config = alloca [64 x i8], align 64
    store [64 x i8] zeroinitializer, ptr %config
    store i8 1, ptr %config
    %widths = getelementptr i8, ptr %config, i64 16
    store <3 x i16> splat (i16 64), ptr %widths, align 2
    %rows = getelementptr i8, ptr %config, i64 48
    store <3 x i8> <i8 4, i8 4, i8 16>, ptr %rows, align 1
    call void @llvm.x86.ldtilecfg(ptr %config)
    call void @llvm.x86.tileloadd64(i8 0, ptr %p0, i64 64)
    call void @llvm.x86.tileloadd64(i8 1, ptr %p1, i64 64)
    call void @llvm.x86.tileloadd64(i8 2, ptr %p2, i64 64)
    call void @llvm.x86.INSTRUCTION(i8 0, i8 1, i8 2)
    call void @llvm.x86.tilestored64(i8 0, ptr %out, i64 64)
    call void @llvm.x86.tilerelease()"""
TILE_ROWS, TILE_COLUMNS, TILE_WORDS = 4, 16, 16  # of the result, and along k


def tile_product(instruction: str, feature: str, is_float: bool) -> Probe:
    """Sums of 4 x 16 elements plus the product of 4 rows of 16 words by a tile of [16 words, 16 columns]."""
    group, type = (2, "bfloat") if is_float else (4, "i8")
    left, right = ((-9, 10), (-9, 10)) if is_float else ((0, 256), (-128, 128))
    a = [n for seed in range(TILE_ROWS * TILE_WORDS * group // COUNT) for n in integers(0, 110 + seed, *left)]
    b = [
        n
        for seed in range(TILE_COLUMNS * TILE_WORDS * group // COUNT)
        for n in integers(0, 120 + seed, *right)
    ]
    totals = integers(0, 140, -999, 999)
    sums = [
        totals[TILE_COLUMNS * row + column]
        + sum(
            a[(TILE_WORDS * row + word) * group + i] * b[(TILE_COLUMNS * word + column) * group + i]
            for word in range(TILE_WORDS)
            for i in range(group)
        )
        for row in range(TILE_ROWS)
        for column in range(TILE_COLUMNS)
    ]
    inputs: tuple[Column, ...] = (column("i32", totals), column(type, a), column(type, b))
    expected = column("i32", sums)
    if is_float:
        inputs = (
            column("float", encoded(totals, SINGLE)),
            *(column(type, encoded(x, BFLOAT)) for x in (a, b)),
        )
        expected = column("float", encoded(sums, SINGLE))
    declarations = (
        *((("void", f"llvm.x86.{name}", "ptr")) for name in ("ldtilecfg",)),
        *((("void", f"llvm.x86.{name}", "i8 immarg, ptr, i64")) for name in ("tileloadd64", "tilestored64")),
        ("void", "llvm.x86.tilerelease", ""),
        ("void", f"llvm.x86.{instruction}", "i8 immarg, i8 immarg, i8 immarg"),
    )
    body = TILE_CONFIG.replace("INSTRUCTION", instruction)
    applies = has("amx-tile", feature)
    return Probe(instruction, inputs, expected, body, applies, declarations, stores=True)


# --- permutations and conversions ------------------------------------------------------------


def permute(bits: int, function: str, feature: str) -> Probe:
    """Elements of a vector register by indices of the run, of which only the low bits count."""
    lanes = bits // 32
    a, indices = integers(32, 150), integers(32, 151)
    expected = [a[lanes * (i // lanes) + indices[i] % lanes] for i in range(COUNT)]
    columns = (column("float", a), column("i32", indices))
    return by_parts(
        f"vpermps {bits}", function, columns, column("float", expected), COUNT // lanes, has(feature)
    )


def rounded(bits: int, function: str, feature: str, constants: str = "") -> Probe:
    """float32 to the nearest integer, the even one of two."""
    a = floats(SINGLE, 152, 28, specials=False)
    a[::4] = [round_to(Fraction(2 * n + 1, 2), SINGLE) for n in range(-8, 8)]
    expected = [round_even(value_of(x, SINGLE)) for x in a]
    return by_parts(
        f"vcvtps2dq {bits}",
        function,
        (column("float", a),),
        column("i32", expected),
        COUNT * 32 // bits,
        has(feature),
        constants=constants,
    )


PROBES = (
    pair_dot(128, "llvm.x86.sse2.pmadd.wd", "sse2"),
    pair_dot(256, "llvm.x86.avx2.pmadd.wd", "avx2"),
    pair_dot(512, "llvm.x86.avx512.pmaddw.d.512", "avx512bw"),
    byte_pair_dot(256, "llvm.x86.avx2.pmadd.ub.sw", "avx2"),
    byte_pair_dot(512, "llvm.x86.avx512.pmaddubs.w.512", "avx512bw"),
    byte_dot("avx512vnni"),
    byte_dot("avxvnni"),
    bfloat_conversion(),
    bfloat_dot(),
    tile_product("tdpbusd", "amx-int8", is_float=False),
    tile_product("tdpbf16ps", "amx-bf16", is_float=True),
    permute(256, "llvm.x86.avx2.permps", "avx2"),
    permute(512, "llvm.x86.avx512.permvar.sf.512", "avx512f"),
    rounded(128, "llvm.x86.sse2.cvtps2dq", "sse2"),
    rounded(256, "llvm.x86.avx.cvt.ps2dq.256", "avx2"),
    rounded(
        512,
        "llvm.x86.avx512.mask.cvtps2dq.512",
        "avx512f",
        "<16 x i32> zeroinitializer, i16 -1, i32 4",
    ),
    *map(arm_dot, ("sdot", "udot", "usdot")),
    arm_matrix(),
)
