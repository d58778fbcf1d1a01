"""How much memory and time does it take to quantize a model of gigabytes by the command line?

The model is a decoder of the shape of Llama 2 with heavy-tailed weights in external data, whose tokens attend to one another
without a cache.  `sardonyx quantize` runs in a fresh process; its peak is that of resident memory, pages of the mapped files
included.  The files are written to a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Tensor

DEGREES = (
    4  # of freedom of Student's distribution, whose tails are those of weights of language models, or heavier
)
TOKENS = 16


@dataclass(frozen=True)
class Drawn:
    """The storage of a weight that is drawn whenever it is read, so that no memory holds it."""

    seed: int

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        rng = np.random.default_rng(self.seed)
        normal = rng.standard_normal(shape, np.float32)
        chi = 2 * rng.standard_gamma(DEGREES / 2, shape, np.float32) / DEGREES
        return np.asarray(normal / np.sqrt(chi * shape[0]), dtype.numpy)


@dataclass(frozen=True)
class Llama:
    """The sizes of a decoder: 8 layers of these have 2 GB in float32."""

    layers: int = 8
    width: int = 2048
    inner: int = 5632
    heads: int = 32
    tokens: int = 32000

    def weights(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """The name and shape of each matrix, in the order of use."""
        yield "embedding", (self.tokens, self.width)
        for layer in range(self.layers):
            for name in ("q", "k", "v", "o"):
                yield f"{name}{layer}", (self.width, self.width)
            for name in ("gate", "up"):
                yield f"{name}{layer}", (self.width, self.inner)
            yield f"down{layer}", (self.inner, self.width)
        yield "head", (self.width, self.tokens)

    def text(self) -> str:
        shapes = dict(self.weights())
        declared = ", ".join(f"float[{rows},{columns}] {name}" for name, (rows, columns) in shapes.items())
        body = "\n".join(self.layer_text(layer) for layer in range(self.layers))
        gain = f"gain = Constant <value = float[1] {{1}}> ()  width = Constant <value = int64[1] {{{self.width}}}> ()"
        return f"""<ir_version: 10, opset_import: ["": 23]>
        llama (int64[batch,sequence] tokens, {declared}) => (float[batch,sequence,{self.tokens}] logits) {{
          {gain}  gains = Expand(gain, width)  x0 = Gather(embedding, tokens)
          {body}
          normal = RMSNormalization(x{self.layers}, gains)  logits = MatMul(normal, head)
        }}"""

    def layer_text(self, n: int) -> str:
        heads = f"<is_causal = 1, q_num_heads = {self.heads}, kv_num_heads = {self.heads}>"
        return f"""
          a{n} = RMSNormalization(x{n}, gains)
          qs{n} = MatMul(a{n}, q{n})  ks{n} = MatMul(a{n}, k{n})  vs{n} = MatMul(a{n}, v{n})
          mixed{n} = Attention {heads} (qs{n}, ks{n}, vs{n})
          attended{n} = MatMul(mixed{n}, o{n})  h{n} = Add(x{n}, attended{n})
          b{n} = RMSNormalization(h{n}, gains)
          gates{n} = MatMul(b{n}, gate{n})  ups{n} = MatMul(b{n}, up{n})
          sigmoid{n} = Sigmoid(gates{n})  swish{n} = Mul(gates{n}, sigmoid{n})  product{n} = Mul(swish{n}, ups{n})
          downs{n} = MatMul(product{n}, down{n})  x{n + 1} = Add(h{n}, downs{n})"""

    def save(self, path: Path) -> None:
        model = sx.from_text(self.text())
        for seed, value in enumerate(list(model.graph.inputs)[1:]):
            rows, columns = dict(self.weights())[value.name]
            model.graph.remove_input(value)
            value.initializer = Tensor(DataType.FLOAT, (rows, columns), Drawn(seed))
            model.graph.add_initializer(value)
        sx.save(model, path, external=True)


@dataclass(frozen=True)
class Measurement:
    """What one call of the command took: seconds of the clock and of processors, and peak bytes of resident memory."""

    seconds: float
    processor: float
    peak: int


def measure(arguments: list[str]) -> Measurement:
    """Calls `sardonyx` in a fresh process."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "sardonyx", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"sardonyx {' '.join(arguments)} failed")
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def folder_bytes(folder: Path, stem: str) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if re.match(rf"{stem}\.onnx", file.name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=Llama.layers)
    parser.add_argument("--algorithms", nargs="+", default=["nearest", "clipped"])
    parser.add_argument("--options", nargs="*", default=[], help="further words of each command")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Llama(args.layers).save(folder / "m.onnx")
        np.savez(folder / "data.npz", tokens=np.random.default_rng(0).integers(0, Llama.tokens, (1, TOKENS)))
        size = folder_bytes(folder, "m")
        print(f"{size / 1e9:.2f} GB, {os.cpu_count()} cores", flush=True)
        for algorithm in args.algorithms:
            words = [str(folder / "m.onnx"), "-o", str(folder / "q.onnx"), "--data", str(folder / "data.npz")]
            used = measure(["quantize", *words, "--algorithm", algorithm, *args.options])
            print(
                f"{algorithm}: {used.seconds:.0f} s ({used.processor:.0f} s of processors), peak "
                f"{used.peak / size:.2f} times the file, result {folder_bytes(folder, 'q') / size:.3f} of it",
                flush=True,
            )


if __name__ == "__main__":
    main()
