"""The fields that `tuning.py` sweeps, their values, and the kernels by which they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from unittest.mock import patch

import numpy as np

from products import Layer, layer_step, tensor
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels import tuning
from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.panels import pack_constant
from sardonyx._src.compile.kernels.reductions.reduce import reduce_step
from sardonyx._src.compile.kernels.reductions.softmax import softmax_step
from sardonyx._src.compile.kernels.winograd.convolution import winograd_steps
from sardonyx._src.compile.kernels.winograd.cost_model import TRANSFORMS
from sardonyx._src.compile.kernels.winograd.weight_transform import pack_winograd_weights
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.step import Step

Workload = Callable[[], Sequence[Step]]


@dataclass(frozen=True)
class Sweep:
    """A field, the values that are measured, and the steps that depend on it, by name.

    key: the entry of a field that is a mapping, such as the vectors of `tile_rows`.
    """

    family: str
    field: str
    values: tuple[float, ...]
    workloads: Mapping[str, Workload]
    key: int | None = None

    @property
    def name(self) -> str:
        suffix = "" if self.key is None else f"[{self.key}]"
        return f"{self.family}.{self.field}{suffix}"

    @property
    def value(self) -> float:
        """The value in the table of this machine."""
        value = getattr(getattr(tuning.tuning_for(host_target()), self.family), self.field)
        number: float = value if self.key is None else value[self.key]
        return number

    def set_value(self, value: float) -> AbstractContextManager[object]:
        """A context in which kernels are emitted with another value of the field."""
        table = tuning.tuning_for(host_target())
        family = getattr(table, self.family)
        if self.field not in {field.name for field in fields(family)}:  # a class variable
            return patch.object(type(family), self.field, value)
        entry = value if self.key is None else {**getattr(family, self.field), self.key: value}
        changed = replace(table, **{self.family: replace(family, **{self.field: entry})})
        return patch.dict(tuning.TUNINGS, {tuning.target_class(host_target()): changed})


# --- workloads -------------------------------------------------------------------------------


def matmul(m: int, k: int, n: int) -> Workload:
    def steps() -> Sequence[Step]:
        b = np.random.default_rng(1).normal(size=(k, n)).astype(np.float32)
        return matmul_steps(tensor(m, k), pack_constant(b, host_target()), tensor(m, n))

    return steps


def attention(heads: int, queries: int, keys: int, depth: int) -> Workload:
    def steps() -> Sequence[Step]:
        q, k, v, y = (tensor(1, heads, length, depth) for length in (queries, keys, keys, queries))
        return attention_steps(q, k, v, y, scale=depth**-0.5)

    return steps


def convolution(layer: Layer) -> Workload:
    return lambda: [layer_step(layer)]


def winograd(size: int, channels: int, features: int) -> Workload:
    """F(4x4, 3x3)."""

    def steps() -> Sequence[Step]:
        w = np.random.default_rng(1).normal(size=(features, channels, 3, 3)).astype(np.float32)
        weights = pack_winograd_weights(w, None, TRANSFORMS[0], host_target())
        return winograd_steps(
            tensor(1, size, size, channels), weights, tensor(1, size, size, features), (1, 1)
        )

    return steps


def transpose(*shape: int) -> Workload:
    return lambda: [copy_step(tensor(*shape).permute((1, 0)), tensor(*shape[::-1]))]


def column_slice(rows: int, columns: int) -> Workload:
    """The copy of the left half of a matrix, row by row."""

    def steps() -> Sequence[Step]:
        return [copy_step(replace(tensor(rows, 2 * columns), shape=(rows, columns)), tensor(rows, columns))]

    return steps


def elementwise(op: str, *shape: int) -> Workload:
    names = ("i0", "i1") if op == "add" else ("i0",)
    value = Apply(op, tuple(Local(name) for name in names))
    return lambda: [elementwise_step(value, [tensor(*shape) for _ in names], tensor(*shape))]


def row_sum(rows: int, columns: int) -> Workload:
    return lambda: [reduce_step("sum", tensor(rows, columns), tensor(rows, 1), (1,))]


def column_sum(rows: int, columns: int) -> Workload:
    return lambda: [reduce_step("sum", tensor(rows, columns), tensor(1, columns), (0,))]


def softmax(rows: int, columns: int) -> Workload:
    return lambda: [softmax_step(tensor(rows, columns), tensor(rows, columns))]


def sweeps() -> Iterator[Sweep]:
    gemm = {"256x768 @ 768x768": matmul(256, 768, 768), "32x1024 @ 1024x1000": matmul(32, 1024, 1000)}
    long = {"128x4096 @ 4096x512": matmul(128, 4096, 512)}
    rows = tuning.tuning_for(host_target()).gemm.tile_rows
    for vectors, height in rows.items():
        columns = vectors * host_target().lanes
        shape = {f"240x512 @ 512x{columns}": matmul(240, 512, columns)}
        heights = tuple(sorted({max(height - 2, 1), height - 1, height, height + 1}))
        yield Sweep("gemm", "tile_rows", heights, shape, vectors)
    yield Sweep("gemm", "max_rows", (48, 144, 288, 576), gemm)
    yield Sweep("gemm", "k_block", (256, 512, 1024, 2048), gemm | long)
    yield Sweep("gemm", "short_k_block", (64, 128, 256), {"16x1536 @ 1536x384": matmul(16, 1536, 384)})
    yield Sweep("gemm", "min_unrolled_fmas", (10, 20, 40), gemm)
    layers = {"3x3 56x56x64": (56, 64, 64, 3, 1), "1x1 14x14x1024": (14, 1024, 256, 1, 1)}
    convolutions = {name: convolution(layer) for name, layer in layers.items()}
    stem = {"7x7/2 224x224x3": convolution((224, 3, 64, 7, 2))}
    yield Sweep("conv", "unit_rows", (48, 96, 192), convolutions)
    yield Sweep("conv", "max_block_terms", (512, 1024, 2048), convolutions)
    yield Sweep("conv", "band_rows", (256, 512, 1024), stem)
    fused = {"56x56x64": winograd(56, 64, 64), "28x28x128": winograd(28, 128, 128)}
    deep = {"14x14x256": winograd(14, 256, 256), "7x7x512": winograd(7, 512, 512)}
    yield Sweep("winograd", "fused_group_tiles", (12, 24, 48), fused)
    yield Sweep("winograd", "separate_group_tiles", (32, 64, 128), deep)
    yield Sweep("winograd", "max_fused_channels", (64, 160, 512), fused | deep)
    yield Sweep("winograd", "prefetch_tiles", (1, 2, 4), fused)
    prefill = {
        "12 x 512 x 512 x 64": attention(12, 512, 512, 64),
        "12 x 197 x 197 x 64": attention(12, 197, 197, 64),
    }
    decode = {
        "12 x 1 x 1024 x 64": attention(12, 1, 1024, 64),
        "12 x 4 x 4096 x 64": attention(12, 4, 4096, 64),
    }
    yield Sweep("attention", "query_block", (32, 64, 128), prefill)
    yield Sweep("attention", "key_block", (64, 128, 256), prefill)
    yield Sweep("attention", "decode_key_block", (128, 256, 512), decode)
    yield Sweep("attention", "split_keys", (256, 512, 1024), decode)
    yield Sweep("attention", "value_rows", (4, 8, 16), decode)
    yield Sweep("attention", "prefetch_floats", (1152, 2304, 4608), decode)
    copies = {"slice 512x512": column_slice(512, 512), "slice 4096x32": column_slice(4096, 32)}
    yield Sweep("data_movement", "copy_unit_elements", (2048, 8192, 32768), copies)
    yield Sweep("data_movement", "memcpy_unroll", (2, 4, 8), copies)
    transposes = {"transpose 512x768": transpose(512, 768)}
    yield Sweep("data_movement", "transpose_columns", (256, 1024, 4096), transposes)
    reductions = {"row sums 512x768": row_sum(512, 768), "softmax 512x768": softmax(512, 768)}
    yield Sweep("reductions", "row_unroll", (2, 4, 8), reductions)
    yield Sweep("reductions", "row_unit_elements", (1024, 4096, 16384), reductions)
    yield Sweep(
        "reductions",
        "block_columns",
        (64, 256, 1024),
        {"column sums 512x768": column_sum(512, 768)},
    )
    pointwise = {"add 512x768": elementwise("add", 512, 768), "tanh 512x768": elementwise("tanh", 512, 768)}
    yield Sweep("elementwise", "unit_elements", (1024, 4096, 16384), pointwise)
    yield Sweep("elementwise", "unroll", (2, 4, 8), {"add 512x768": pointwise["add 512x768"]})
    yield Sweep(
        "elementwise",
        "unroll_one_function",
        (1, 2, 4),
        {"tanh 512x768": pointwise["tanh 512x768"]},
    )
