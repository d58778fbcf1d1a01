"""bench/aarch64_loops.py: loops of a text of assembly, counted by hand."""

from __future__ import annotations

from typing import Any

from test_zoo import import_benchmark

ASSEMBLY = """
kernel:
\tmov\tx0, xzr
.LBB0_1:
\tldr\tq9, [sp, #16]
.LBB0_2:
\tldp\tq0, q1, [x1]
\tldr\ts2, [x2, x0, lsl #2]
\tld1r\t{ v3.4s }, [x3]
\tld1\t{ v4.4s, v5.4s }, [x4], #32
\tldr\tx9, [x5]
\tprfm\tpldl2keep, [x1, #512]
\tfmla\tv16.4s, v0.4s, v2.s[0]
\tfmla\tv17.4s, v1.4s, v2.s[0]
\tmla\tv18.4s, v4.4s, v3.4s
\tusdot\tv19.4s, v5.16b, v3.16b
\tstr\tq19, [sp, #32]
\tcmp\tx0, x6
\tb.lt\t.LBB0_2
\tcbnz\tx9, .LBB0_1
\tb\t.LBB0_3
.LBB0_3:
\tret
"""


def loops() -> Any:
    return import_benchmark("aarch64_loops")


def test_the_inner_loop_is_counted() -> None:
    (loop,) = loops().inner_loops(ASSEMBLY)
    assert (len(loop.lines), loop.multiply_adds, loop.loads, loop.spills) == (13, 4, 6, 1)


def test_the_scarcest_resource_is_the_bound() -> None:
    module = loops()
    (loop,) = module.inner_loops(ASSEMBLY)
    n1, v1 = module.CORES
    assert loop.bound(n1) == 2 / (13 / 4)  # 2 cycles of products, 3 of loads, 3.25 of instructions
    assert loop.bound(v1) == 1 / 2  # 1 cycle of products, 2 of loads, 1.625 of instructions
