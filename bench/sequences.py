"""Do sequences that grow in loops take time proportional to their length, wherever the insertions are?

For each kind of loop and engine: CPU seconds of opening a session and running it, for several numbers of iterations, and the
growth of the time between the last two beside that of the numbers.  The least of some rounds, in a process that has run a
short loop before.  `python bench/sequences.py 25000 100000` measures other numbers, two at least.
"""

from __future__ import annotations

import sys
import time
from typing import Literal

import numpy as np

import sardonyx as sx

ROUNDS = 3
COUNTS = [1000, 4000, 16000]
ENGINES: tuple[Literal["auto", "reference"], ...] = ("auto", "reference")
TEXT = """<ir_version: 10, opset_import: ["": 21, "my": 1]>
g (int64 n, float[2] x, seq(float[2]) e) => (seq(float[2]) s) {{
  b = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
  two = Constant <value = int64 {{2}}> ()  w = Constant <value = float[2,2] {{1, 0, 0, 1}}> ()
  s = Loop(n, b, e) <body = f (int64 i, bool c, seq(float[2]) a) => (bool d, seq(float[2]) o) {{
    d = Identity(c) {body}
  }}>
}}
<opset_import: ["": 21], domain: "my"> insert (a, x) => (o) {{ o = SequenceInsert(a, x) }}"""
BODIES = {
    "at the end": "o = SequenceInsert(a, x)",
    "at the front": "o = SequenceInsert(a, x, zero)",
    "in the middle": "h = SequenceLength(a)  m = Div(h, two)  o = SequenceInsert(a, x, m)",
    "a queue": "t = SequenceInsert(a, x)  u = SequenceInsert(t, x)  o = SequenceErase(u, zero)",
    "under two names": "t = SequenceInsert(a, x, zero)  o = SequenceInsert(a, x)",
    "after a product": "y = MatMul(x, w)  o = SequenceInsert(a, y)",
    "in a branch": "o = If(d) <then_branch = t () => (u) { u = SequenceInsert(a, x) }, else_branch = g2 () => (v) { v = Identity(a) }>",
    "in a function": "o = my.insert(a, x)",
    "in an inner loop": "o = Loop(two, b, a) <body = f2 (int64 j, bool c2, seq(float[2]) a2) => (bool d2, seq(float[2]) o2) { d2 = Identity(c2)  o2 = SequenceInsert(a2, x) }>",
}


def seconds_of(body: str, engine: Literal["auto", "reference"], count: int) -> float:
    """CPU seconds of opening a session and a run of `count` iterations."""
    x = np.array([1, 2], np.float32)
    model = sx.from_text(TEXT.format(body=body))
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        sx.Session(model, engine=engine).run({"n": np.array(count), "x": x, "e": [x]})
        times.append(time.process_time() - start)
    return min(times)


def main(counts: list[int]) -> None:
    print(f"{'':28}", *(f"{count:>9,}" for count in counts), f"   x {counts[-1] / counts[-2]:g}")
    for engine in ENGINES:
        for name, body in BODIES.items():
            seconds_of(body, engine, 10)
            times = [seconds_of(body, engine, count) for count in counts]
            columns = " ".join(f"{seconds:7.2f} s" for seconds in times)
            print(f"{engine:10} {name:17} {columns}    x {times[-1] / times[-2]:.1f}", flush=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or COUNTS)
