"""How much faster than the direct way are 3x3 convolutions by Winograd's, on one core, form by form?

Layers are those of ResNet-50, VGG and a U-Net with stride 1, with bias and ReLU.  The direct way is our own.  Between runs
the caches are filled with something else if `--cold` is said: in a network, weights come from memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import numpy as np

from measure import Row, row
from products import RELU, aligned, filled, peak, tensor, timed
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.products.convolution import convolution
from sardonyx._src.compile.products.weights import Window, packed_weights
from sardonyx._src.compile.products.winograd import winograd
from sardonyx._src.compile.products.winograd_cost import FORMS, forms_for
from sardonyx._src.compile.products.winograd_weights import winograd_weights
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.tensors import Array

LAYERS = [  # size of the image, channels, columns
    *((56, 64, 64), (28, 128, 128), (14, 256, 256), (7, 512, 512)),  # ResNet-50
    *((224, 64, 64), (112, 128, 128), (56, 256, 256), (28, 512, 512), (14, 512, 512)),  # VGG
    *((256, 32, 32), (256, 64, 64), (64, 16, 16)),  # U-Net
]
RUNS = 30
OTHER = np.zeros(48 << 20, np.uint8)  # what fills the caches
POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64
FUNCTIONS: dict[Kernel, Callable[..., None]] = {}


def prepared(steps: list[Step]) -> Callable[[], None]:
    """A call of all units of some steps, one after the other, over memory of their own."""
    memory: dict[Storage, Array] = {}
    calls = [call(step, memory) for step in steps]

    def run(held: dict[Storage, Array] = memory) -> None:
        for one in calls:
            one()

    return run


def call(step: Step, memory: dict[Storage, Array]) -> Callable[[], None]:
    words = np.zeros(len(step.args), np.int64)
    for i, arg in enumerate(step.args):
        if isinstance(arg, Tensor):
            if arg.storage not in memory:
                memory[arg.storage] = filled(arg.storage)
            words[i] = memory[arg.storage].ctypes.data
        else:
            words[i] = arg
    if step.kernel not in FUNCTIONS:
        library = load(step.kernel.source("kernel", host()), ["kernel"])
        FUNCTIONS[step.kernel] = library.function("kernel", POINTER, COUNT, COUNT, POINTER)
    function, scratch = FUNCTIONS[step.kernel], aligned(step.scratch)
    return lambda: function(words.ctypes.data, 0, step.units, scratch.ctypes.data)


def ways(size: int, channels: int, columns: int) -> dict[str, list[Step]]:
    """The steps of a layer, by their names: the direct way and one for each form."""
    weights = np.random.default_rng(1).normal(size=(columns, channels, 3, 3)).astype(np.float32)
    x, y = tensor(1, size, size, channels), tensor(1, size, size, columns)
    packed = packed_weights(weights, None, Window((3, 3), pads=(1, 1)), host())
    found = {"direct": [convolution(x, packed, y, RELU)]}
    chosen = forms_for(1, size, size, channels, columns)
    for forms in FORMS:
        name = f"{forms.vertical.outputs}x{forms.horizontal.outputs}{' (chosen)' if forms == chosen else ''}"
        found[name] = winograd(x, winograd_weights(weights, None, forms, host()), y, (1, 1), RELU)
    return found


def compared(layer: tuple[int, int, int], limit: Callable[[], float], *, cold: bool) -> list[Row]:
    """Rows of all ways, in turn; the first turn warms up and does not count."""
    size, channels, columns = layer
    tools = {name: prepared(steps) for name, steps in ways(*layer).items()}
    samples: dict[str, list[float]] = {name: [] for name in tools}
    before = limit()
    for _ in range(RUNS + 1):
        for name, run in tools.items():
            if cold:
                OTHER[:] += 1
            else:
                run()  # what the others have in the caches goes
            samples[name].append(timed(run))
    top = max(before, limit())
    flops = size * size * channels * columns * 18
    rows = []
    for name, seconds in samples.items():
        best = min(seconds[1:])
        what = f"3x3, {size}x{size}x{channels} to {columns}{', cold' if cold else ''}: at best {best * 1e3:.3f} ms, "
        what += f"{flops / best / 1e9:.0f} GFLOP/s of direct products at a peak of {top:.0f}"
        rows.append(row(what, name, [{"seconds": s, "bytes": 0, "written": 0} for s in seconds[1:]]))
    return rows


if __name__ == "__main__":
    limit = peak()
    for layer in LAYERS:
        compared(layer, limit, cold="--cold" in sys.argv)
