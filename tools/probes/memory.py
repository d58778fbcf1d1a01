"""Probes of accesses to memory: with masks, by indices, and atomic ones."""

from __future__ import annotations

from probes.probe import COUNT, Probe, column, has
from probes.samples import integers

VECTOR, MASK, POINTERS = f"<{COUNT} x float>", f"<{COUNT} x i1>", f"<{COUNT} x ptr>"


def masked(kind: str) -> Probe:
    """A load or store of the elements whose condition is not 0: others are 0, or keep what was there."""
    a, conditions = integers(32, 40), integers(32, 41, 0, 2)
    condition = f"%mask = icmp ne <{COUNT} x i32> %x1, zeroinitializer"
    if kind == "load":
        function = f"llvm.masked.load.v{COUNT}f32.p0"
        body = f"""
            {condition}
            %y = call {VECTOR} @{function}(ptr %p0, i32 1, {MASK} %mask, {VECTOR} zeroinitializer)"""
        declaration = (VECTOR, function, f"ptr, i32 immarg, {MASK}, {VECTOR}")
    else:
        function = f"llvm.masked.store.v{COUNT}f32.p0"
        body = f"""
            {condition}
            store {VECTOR} zeroinitializer, ptr %out, align 1
            %value = load {VECTOR}, ptr %p0, align 1
            call void @{function}({VECTOR} %value, ptr %out, i32 1, {MASK} %mask)"""
        declaration = ("void", function, f"{VECTOR}, ptr, i32 immarg, {MASK}")
    inputs = (column("float", a), column("i32", conditions))
    expected = [value if condition else 0 for value, condition in zip(a, conditions, strict=True)]
    return Probe(
        f"masked {kind}",
        inputs,
        column("float", expected),
        body,
        has("avx2"),
        (declaration,),
        stores=kind == "store",
    )


def gather() -> Probe:
    """Elements by indices, of those whose condition is not 0."""
    a, indices, conditions = integers(32, 42), integers(32, 43, 0, COUNT), integers(32, 44, 0, 4)
    function = f"llvm.masked.gather.v{COUNT}f32.v{COUNT}p0"
    body = f"""
        %mask = icmp ne <{COUNT} x i32> %x2, zeroinitializer
        %places = getelementptr float, ptr %p0, <{COUNT} x i32> %x1
        %y = call {VECTOR} @{function}({POINTERS} %places, i32 1, {MASK} %mask, {VECTOR} zeroinitializer)"""
    expected = [a[i] if condition else 0 for i, condition in zip(indices, conditions, strict=True)]
    return Probe(
        "gather",
        (column("float", a), column("i32", indices), column("i32", conditions)),
        column("float", expected),
        body,
        has("avx2"),
        ((VECTOR, function, f"{POINTERS}, i32 immarg, {MASK}, {VECTOR}"),),
    )


def scatter() -> Probe:
    """Elements to the places that a permutation gives them."""
    a, indices = integers(32, 45), [(29 * i + 11) % COUNT for i in range(COUNT)]
    function = f"llvm.masked.scatter.v{COUNT}f32.v{COUNT}p0"
    body = f"""
        %value = load {VECTOR}, ptr %p0, align 1
        %places = getelementptr float, ptr %out, <{COUNT} x i32> %x1
        call void @{function}({VECTOR} %value, {POINTERS} %places, i32 1, {MASK} splat (i1 true))"""
    expected = [a[indices.index(i)] for i in range(COUNT)]
    return Probe(
        "scatter",
        (column("float", a), column("i32", indices)),
        column("float", expected),
        body,
        has("avx512f"),
        (("void", function, f"{VECTOR}, {POINTERS}, i32 immarg, {MASK}"),),
        stores=True,
    )


def compressed() -> Probe:
    """The elements whose condition is not 0, one after the other, then zeros."""
    a, conditions = integers(32, 46), integers(32, 47, 0, 2)
    function = f"llvm.masked.compressstore.v{COUNT}f32"
    body = f"""
        %mask = icmp ne <{COUNT} x i32> %x1, zeroinitializer
        store {VECTOR} zeroinitializer, ptr %out, align 1
        %value = load {VECTOR}, ptr %p0, align 1
        call void @{function}({VECTOR} %value, ptr %out, {MASK} %mask)"""
    chosen = [value for value, condition in zip(a, conditions, strict=True) if condition]
    return Probe(
        "compress",
        (column("float", a), column("i32", conditions)),
        column("float", chosen + [0] * (COUNT - len(chosen))),
        body,
        has("avx512f"),
        (("void", function, f"{VECTOR}, ptr, {MASK}"),),
        stores=True,
    )


def atomics() -> Probe:
    """The run loop's: an addition, a failed and a successful exchange, each with the value before."""
    a = [7, 5]
    body = """
        store i64 7, ptr %out
        %before = getelementptr i64, ptr %out, i64 1
        %old = atomicrmw add ptr %out, i64 5 acq_rel
        store i64 %old, ptr %before
        %failed = cmpxchg ptr %out, i64 11, i64 1 acq_rel acquire
        %place = getelementptr i64, ptr %out, i64 2
        %seen = extractvalue { i64, i1 } %failed, 0
        store i64 %seen, ptr %place
        %done = cmpxchg ptr %out, i64 12, i64 -3 acq_rel acquire"""
    return Probe("atomics", (column("i64", a),), column("i64", [-3, 7, 12]), body, stores=True)


PROBES = (masked("load"), masked("store"), gather(), scatter(), compressed(), atomics())
