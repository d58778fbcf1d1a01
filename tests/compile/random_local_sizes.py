"""Random loops whose iterations slice lengths of their own, with what is computed of the slices."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from sardonyx._src.ir import Array

COLUMNS = 4
UNARY = ("Relu", "Neg", "Abs", "Tanh", "Identity")
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceMax", "ReduceMin")
HEAD = """float[N,4] x, int64[M] index, float[4,4] w, int64[B] starts, int64[B] ends, int64 n"""
CONSTANTS = """int64[1] zero = {0}, int64[1] one = {1}, int64[1] minus = {-1}, int64[1] two = {2}, int64[2] axes = {0, 1},
 int64[1] columns = {4}, float half = {0.5}, bool yes = {1}, int64[1] big = {1000}"""


@dataclass
class LoopText:
    """The body of a loop in ONNX's text format.  rows: names of values [rows, 4], each with its number of rows' name."""

    rng: Generator
    lines: list[str] = field(default_factory=list)
    rows: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> str:
        """Adds a node; returns the name of its result."""
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def flip(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choose(self, *texts: str) -> str:
        return texts[int(self.rng.integers(len(texts)))]

    def bounds(self) -> tuple[str, str]:
        """A start and an end of this iteration."""
        start = self.add("Gather(starts, i1)")
        end = self.choose("ends", "starts")
        place = "i1" if end == "ends" else self.add("Add(i1, one)")
        end = self.add(f"Gather({end}, {place})")
        return start, end

    def slice(self) -> None:
        start, end = self.bounds()
        kind = int(self.rng.integers(6))
        if kind == 0:
            rows = self.add(f"Slice(x, {start}, {end}, zero, two)")
        elif kind == 5:
            part = self.add(f"Slice(x, {start}, {end}, zero)")
            head = self.add(f"Gather<axis=1>({part}, zero)")
            places = self.add(f"NonZero({self.add(f'Greater({head}, half)')})")
            first = self.add(f"Gather<axis=0>({places}, zero)")
            rows = self.add(f"Gather<axis=0>({part}, {self.add(f'Reshape({first}, minus)')})")
        elif kind == 1:
            part = self.add(f"Slice(index, {start}, {end}, zero)")
            rows = self.add(f"Gather<axis=0>(x, {part})")
        elif kind == 2:
            rows = self.add(f"Slice({self.add('Transpose<perm=[1,0]>(x)')}, {start}, {end}, one)")
            rows = self.add(f"Transpose<perm=[1,0]>({rows})")
        elif kind == 3:
            start, end, axis = (self.add(f"Cast<to=6>({name})") for name in (start, end, "zero"))
            rows = self.add(f"Slice(x, {start}, {end}, {axis})")
        else:
            rows = self.add(f"Slice(x, {start}, {end}, zero)")
        self.rows.append((rows, rows))

    def compute(self) -> None:
        """One more value of rows."""
        rows, size = self.rows[int(self.rng.integers(len(self.rows)))]
        kind = int(self.rng.integers(9))
        if kind == 0:
            rows, size = self.add(f"MatMul({rows}, w)"), size
        elif kind == 1:
            other, other_size = self.rows[int(self.rng.integers(len(self.rows)))]
            if other_size == size:
                rows = self.add(f"{self.choose('Add', 'Mul', 'Max')}({rows}, {other})")
            else:
                rows = self.add(f"Concat<axis=0>({rows}, {other})")
                size = rows
        elif kind == 2:
            rows = self.add(f"Softmax<axis={self.choose('0', '1')}>({rows})")
        elif kind == 3:
            rows = self.add(f"Slice({rows}, one, big, zero)")
            size = rows
        elif kind == 4:
            length = self.add(f"Cast<to=1>({self.add(f'Shape<start=0, end=1>({rows})')})")
            rows = self.add(f"Mul({rows}, {length})")
        elif kind == 5:
            start, end = self.bounds()
            rows = self.add(f"Slice({rows}, {start}, {end}, zero)")
            size = rows
        elif kind == 6:
            rows = self.add(f"Concat<axis=0>({rows}, x)")
            size = rows
        else:
            rows = self.add(f"{self.choose(*UNARY)}({rows})")
        self.rows.append((rows, size))

    def branch(self) -> None:
        """An If on whether there are rows, which reduces them in one branch."""
        rows, _ = self.rows[-1]
        length = self.add(f"Shape<start=0, end=1>({rows})")
        flag = self.add(f"Greater({length}, one)")
        name = f"v{self.count + 1}"
        self.add(
            f"If({flag})<then_branch = t{self.count} () => (float[1,4] a{name})"
            f" {{ a{name} = ReduceMean({rows}, zero) }},"
            f" else_branch = e{self.count} () => (float[1,4] b{name}) {{ b{name} = ReduceSum({rows}, zero) }}>"
        )
        self.rows.append((name, name))

    def scan(self) -> None:
        """A Scan over the rows of this iteration, whose state is one row."""
        rows, _ = self.rows[-1]
        initial = self.add("Mul(s, half)")
        name = f"v{self.count + 1}"
        self.add(
            f"Scan<num_scan_inputs=1, body = c{self.count} (float[1,4] p{name}, float[4] q{name})"
            f" => (float[1,4] r{name}) {{ h{name} = Mul(p{name}, half) r{name} = Add(h{name}, q{name}) }}>"
            f"({initial}, {rows})"
        )
        self.rows.append((name, name))

    def result(self) -> str:
        """A sum of reductions, [1, 4]."""
        total = self.add("Mul(s, half)")
        for rows, _ in self.rows:
            operator = self.choose(*REDUCTIONS)
            total = self.add(f"Add({total}, {self.add(f'{operator}<keepdims=1>({rows}, zero)')})")
        return self.add(f"Tanh({total})")


def loop_text(seed: int) -> str:
    """A model with one such loop, whose results are a state and a scan output."""
    text = LoopText(np.random.default_rng(seed))
    text.add("Unsqueeze(i, zero)")
    text.lines = ["i1 = Unsqueeze(i, zero)"]
    for _ in range(1 + int(text.rng.integers(3))):
        text.slice()
    for _ in range(int(text.rng.integers(5))):
        text.compute()
    if text.flip(0.3):
        text.branch()
    if text.flip(0.2):
        text.scan()
    result = text.result()
    lines = "\n ".join(text.lines)
    return f"""g ({HEAD}) => (float[1,4] y, float[K,1,4] all) <{CONSTANTS}> {{
 initial = ConstantOfShape<value = float[1] {{0.25}}>(shape)
 y, all = Loop(n, yes, initial)<body = b (int64 i, bool go, float[1,4] s) => (bool more, float[1,4] r, float[1,4] o) {{
 more = Identity(go)
 {lines}
 r = Identity({result})
 o = Relu({result}) }}> }}""".replace("<int64[1] zero", "<int64[2] shape = {1, 4}, int64[1] zero")


def draw_feeds(rng: Generator) -> dict[str, Array]:
    """Feeds of random lengths; most slices are of rows in order, others are empty, out of range, or count from the end."""
    n, m, b = int(rng.integers(0, 30)), int(rng.integers(1, 30)), int(rng.integers(1, 8))
    low, high = ((0, n + 1), (-n - 3, n + 4))[int(rng.integers(2))]
    starts = np.sort(rng.integers(low, high, b + 1))
    return {
        "x": rng.standard_normal((n, COLUMNS), np.float32),
        "index": rng.integers(0, max(n, 1), m),
        "w": rng.standard_normal((COLUMNS, COLUMNS), np.float32),
        "starts": starts if rng.random() < 0.7 else rng.permutation(starts),
        "ends": rng.integers(low, high, b + 1),
        "n": np.array(int(rng.integers(1, b + 1))),
    }
