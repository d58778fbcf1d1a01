"""How much faster than direct 3x3 convolutions are Winograd convolutions, on one core, for each F(m x m, 3x3)?

Layers are those of ResNet-50, VGG and a U-Net with stride 1, with bias and ReLU.  With `--cold`, the caches are
evicted between runs: in a network, weights come from memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from measure import Row, row
from products import RELU, peak, prepare_steps, tensor, time_call
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import TRANSFORMS, choose_transforms
from sardonyx._src.compile.kernels.winograd.weight_transform import pack_winograd_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Step, Window

LAYERS = [  # image size, input channels, output channels
    *((56, 64, 64), (28, 128, 128), (14, 256, 256), (7, 512, 512)),  # ResNet-50
    *((224, 64, 64), (112, 128, 128), (56, 256, 256), (28, 512, 512), (14, 512, 512)),  # VGG
    *((256, 32, 32), (256, 64, 64), (64, 16, 16)),  # U-Net
]
RUNS = 30
OTHER = np.zeros(48 << 20, np.uint8)  # evicts the caches


def layer_algorithms(size: int, channels: int, columns: int) -> dict[str, list[Step]]:
    """The steps of a layer by name: direct, and one for each pair of transforms."""
    weights = np.random.default_rng(1).normal(size=(columns, channels, 3, 3)).astype(np.float32)
    x, y = tensor(1, size, size, channels), tensor(1, size, size, columns)
    packed = pack_conv_weights(weights, None, Window((3, 3), begin_pads=(1, 1)), host_target())
    algorithms = {"direct": [convolution_step(x, packed, y, RELU)]}
    chosen = choose_transforms(1, size, size, channels, columns)
    for transforms in TRANSFORMS:
        name = f"{transforms.vertical.outputs}x{transforms.horizontal.outputs}{' (chosen)' if transforms == chosen else ''}"
        algorithms[name] = winograd_steps(
            x, pack_winograd_weights(weights, None, transforms, host_target()), y, (1, 1), RELU
        )
    return algorithms


def compare(layer: tuple[int, int, int], limit: Callable[[], float], *, cold: bool) -> list[Row]:
    """Rows of all variants, measured alternately after a warm-up."""
    size, channels, columns = layer
    tools = {name: prepare_steps(steps) for name, steps in layer_algorithms(*layer).items()}
    samples: dict[str, list[float]] = {name: [] for name in tools}
    before = limit()
    for _ in range(RUNS + 1):
        for name, run in tools.items():
            if cold:
                OTHER[:] += 1
            else:
                run()  # evict the other variants' data from the caches
            samples[name].append(time_call(run))
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
        compare(layer, limit, cold="--cold" in sys.argv)
