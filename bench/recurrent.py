"""How fast are recurrent layers, compared with onnxruntime and OpenVINO: as operators, and spelled as loops over a cell?

A model is one layer with random constant weights.  Sizes are batch x length x input, then hidden units; `lengths` means that
every sequence has a length of its own.  The loops are LSTM cells of MatMul, Split, Sigmoid and Tanh in the body of a Scan and of a
Loop, as converters from other frameworks write them.  Engines run as in "The native engine beside other engines".
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sardonyx as sx
from latency import MEDIANS, Case, Method, geometric_means, print_timing, timing_table
from peers import ENGINES
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx._src.measure.engines import Feeds
from sardonyx._src.measure.timing import measure_engines

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1, "Scan": 4, "Loop": 4}
HEADER = '<ir_version: 8, opset_import: ["": 17]>\n'
CELL = """xw = MatMul(xt, wt) hr = MatMul(h0, rt) s = Add(xw, hr) a = Add(s, b)
  i, o, f, g = Split<axis = 1>(a) si = Sigmoid(i) so = Sigmoid(o) sf = Sigmoid(f) tg = Tanh(g)
  kept = Mul(sf, c0) new = Mul(si, tg) c1 = Add(kept, new) tc = Tanh(c1) h1 = Mul(so, tc)"""


@dataclass(frozen=True)
class Layer:
    """A recurrent layer; kind: the operator, or that of the loop in which the cell of an LSTM is spelled."""

    kind: str
    batch: int
    length: int
    size: int
    hidden: int
    direction: str = "forward"
    has_lengths: bool = False

    def __str__(self) -> str:
        words = [self.kind, "" if self.direction == "forward" else self.direction]
        words += [
            f"{self.batch}x{self.length}x{self.size}, {self.hidden}",
            "lengths" if self.has_lengths else "",
        ]
        return " ".join(word for word in words if word)

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1

    def weights(self) -> dict[str, Array]:
        draw, rows = np.random.default_rng(1), GATES[self.kind] * self.hidden
        if self.kind in ("Scan", "Loop"):
            shapes: dict[str, tuple[int, ...]] = {
                "wt": (self.size, rows),
                "rt": (self.hidden, rows),
                "b": (rows,),
            }
        else:
            d = self.directions
            shapes = {"w": (d, rows, self.size), "r": (d, rows, self.hidden), "b": (d, 2 * rows)}
        bound = self.hidden**-0.5
        return {name: draw.uniform(-bound, bound, shape).astype(np.float32) for name, shape in shapes.items()}

    def feeds(self) -> Feeds:
        draw = np.random.default_rng(2)
        x = draw.standard_normal((self.length, self.batch, self.size), np.float32)
        lengths = draw.integers(self.length // 2, self.length + 1, self.batch).astype(np.int32)
        return {"x": x, **({"lens": lengths} if self.has_lengths else {})}

    def text(self) -> str:
        """The graph, with the weights as inputs."""
        operands = ", ".join(
            f"float[{','.join(map(str, array.shape))}] {name}" for name, array in self.weights().items()
        )
        x, state = f"float[{self.length},{self.batch},{self.size}] x", f"float[{self.batch},{self.hidden}]"
        if self.kind == "Scan":
            return f"""g ({x}, {operands}) => (float[{self.length},{self.batch},{self.hidden}] y) {{
              {self.zero_state()}
              hn, cn, y = Scan <num_scan_inputs = 1, body = step ({state} h0, {state} c0, float[{self.batch},{self.size}] xt)
                => ({state} h1, {state} c1, {state} yt) {{ {CELL} yt = Identity(h1) }}> (zero, zero, x) }}"""
        if self.kind == "Loop":
            return f"""g ({x}, {operands}) => (float[{self.length},{self.batch},{self.hidden}] y) {{
              {self.zero_state()} trips = Constant <value_int = {self.length}> ()
              hn, cn, y = Loop <body = step (int64 n, bool go, {state} h0, {state} c0)
                => (bool on, {state} h1, {state} c1, {state} yt) {{
                on = Identity(go) xt = Gather <axis = 0> (x, n) {CELL} yt = Identity(h1) }}> (trips, , zero, zero) }}"""
        lengths = f", int32[{self.batch}] lens" if self.has_lengths else ""
        d, h = self.directions, self.hidden
        return f"""g ({x}{lengths}, {operands}) => (float[{self.length},{d},{self.batch},{h}] y) {{
          y = {self.kind} <hidden_size = {h}, direction = "{self.direction}"> (x, w, r, b{", lens" if lengths else ""}) }}"""

    def zero_state(self) -> str:
        return (
            f"size = Constant <value_ints = [{self.batch}, {self.hidden}]> () zero = ConstantOfShape (size)"
        )

    def model(self) -> Model:
        model = sx.from_text(HEADER + self.text())
        inputs = {value.name: value for value in model.graph.inputs}
        for name, array in self.weights().items():
            model.graph.remove_input(inputs[name])
            inputs[name].initializer = Tensor.of(array)
            model.graph.add_initializer(inputs[name])
        return model


LAYERS = (
    Layer("LSTM", 1, 100, 80, 128),
    Layer("LSTM", 1, 100, 80, 128, "bidirectional"),
    Layer("LSTM", 1, 100, 80, 256, "bidirectional"),
    Layer("LSTM", 1, 100, 80, 512),
    Layer("LSTM", 8, 100, 80, 512, has_lengths=True),
    Layer("LSTM", 8, 100, 80, 128),
    Layer("LSTM", 16, 50, 128, 128),
    Layer("LSTM", 16, 50, 128, 128, "bidirectional", has_lengths=True),
    Layer("LSTM", 32, 100, 80, 128, "bidirectional"),
    Layer("LSTM", 32, 100, 80, 128, has_lengths=True),
    Layer("GRU", 1, 100, 80, 128),
    Layer("GRU", 1, 100, 80, 256, "bidirectional"),
    Layer("GRU", 1, 100, 80, 512),
    Layer("GRU", 8, 100, 80, 128),
    Layer("GRU", 16, 50, 128, 128, "bidirectional", has_lengths=True),
    Layer("RNN", 1, 100, 80, 128),
    Layer("RNN", 16, 50, 128, 128, "bidirectional"),
    Layer("Scan", 1, 100, 80, 128),
    Layer("Scan", 8, 100, 80, 128),
    Layer("Loop", 1, 100, 80, 128),
    Layer("Loop", 8, 100, 80, 128),
)


def measure(
    layers: Iterable[Layer], threads: Sequence[int], engines: Sequence[str], method: Method = MEDIANS
) -> list[Case]:
    """Measures every layer on every number of threads; prints a line for each engine."""
    cases = []
    with TemporaryDirectory() as folder:
        for i, layer in enumerate(layers):
            sx.save(layer.model(), path := Path(folder) / f"{i}.onnx")
            cases += [measure_case(layer, path, n, engines, method) for n in threads]
    return cases


def measure_case(layer: Layer, path: Path, threads: int, engines: Sequence[str], method: Method) -> Case:
    timings = measure_engines(
        str(path),
        [e for e in reversed(engines) if can_run(e, path, layer)],
        threads,
        layer.feeds(),
        method.turns,
    )
    for timing in timings:
        print_timing(str(layer), timing)
    return Case(str(layer), threads, {timing.engine: timing for timing in timings}, method)


def can_run(engine: str, path: Path, layer: Layer) -> bool:
    """Whether an engine accepts a layer; prints the reason if it does not."""
    try:
        measure_engines(str(path), [engine], 1, layer.feeds(), 1)
    except SardonyxError as error:
        print(json.dumps({"what": str(layer), "tool": engine, "fails": str(error)[:200]}), flush=True)
        return False
    return True


def section(cases: Sequence[Case] | None = None, engines: Sequence[str] = ENGINES) -> str:
    """The table for docs/generated/benchmarks.md, and the geometric means of its ratios."""
    if cases is None:
        cases = measure(LAYERS, [1, 2], engines)
    return "\n\n".join([timing_table(cases, engines), geometric_means(cases)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of layers")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=MEDIANS.turns)
    args = parser.parse_args()
    layers = [layer for layer in LAYERS if args.only in str(layer)]
    print(section(measure(layers, args.threads, ENGINES, Method(turns=args.turns))))


if __name__ == "__main__":
    main()
