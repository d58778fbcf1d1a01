"""Operators of com.microsoft that no function of standard operators computes.

Spec: com.microsoft DynamicTimeWarping-1 Inverse-1 MurmurHash3-1 SparseToDenseMatMul-1, as onnxruntime computes them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, SparseTensor, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.microsoft.text import DOMAIN
from sardonyx._src.ops.support.shapes import same_type

inverse = Operator("Inverse", DOMAIN, tolerance="rounding", about="the inverses of square matrices")
warping = Operator("DynamicTimeWarping", DOMAIN, about="the path of lowest cost through a matrix of costs")
murmur_hash = Operator("MurmurHash3", DOMAIN, about="MurmurHash3_x86_32 of each element")
sparse_matmul = Operator(
    "SparseToDenseMatMul", DOMAIN, tolerance="rounding", about="MatMul of a sparse and a dense matrix"
)
inverse.infer(1)(same_type)
BLOCK = 4  # bytes that MurmurHash3 hashes at a time


@inverse.eval(1)
def inverse_kernel(x: Array) -> Array:
    """x, result: [..., n, n]."""
    wide: NDArray[np.floating] = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    try:
        return np.linalg.inv(wide).astype(x.dtype)
    except np.linalg.LinAlgError as error:
        raise EvaluationError(f"every matrix must be invertible; got one that is not ({error})") from None


@warping.infer(1)
def warping_infer(inference: Inference) -> Result:
    return TensorType(DataType.INT32, (2, inference.new_dim()))


@warping.eval(1)
def warping_kernel(costs: Array) -> Array:
    """costs: [m, n] or [1, m, n]; result: [2, path] int32, rows and columns from (0, 0) to (m - 1, n - 1)."""
    matrix = costs.reshape(costs.shape[-2:])
    rows, columns = costs.shape[-2:]
    total = np.full((rows + 1, columns + 1), np.inf, np.float32)
    total[0, 0] = 0
    moves = np.zeros((rows + 1, columns + 1), np.int8)
    for j in range(1, columns + 1):
        for i in range(1, rows + 1):
            before = (total[i - 1, j - 1], total[i - 1, j], total[i, j - 1])
            move = 0 if before[0] < min(before[1:]) else 1 if before[1] < min(before[0], before[2]) else 2
            moves[i, j] = move
            total[i, j] = matrix[i - 1, j - 1] + before[move]
    return warping_path(moves)


def warping_path(moves: Array) -> Array:
    """The path, traced back from the last element; moves: 0 for a diagonal step, 1 for a step in rows, 2 in columns."""
    i, j = moves.shape[0] - 1, moves.shape[1] - 1
    path: list[tuple[int, int]] = []
    while i > 0 or j > 0:
        path.append((i - 1, j - 1))
        move = 2 if i == 0 else 1 if j == 0 else moves[i, j]
        i, j = i - (move != 2), j - (move != 1)
    return np.array([p for p in reversed(path) if min(p) >= 0], np.int32).reshape(-1, 2).T.copy()


@murmur_hash.infer(1)
def murmur_infer(inference: Inference) -> Result:
    dtype = DataType.UINT32 if inference.integer("positive") else DataType.INT32
    return TensorType(dtype, inference.shape(0))


@murmur_hash.eval(1)
def murmur_kernel(x: Array, *, positive: int, seed: int) -> Array:
    """x: numbers or strings; result: the hash of the bytes of each element, in the shape of x."""
    dtype = np.uint32 if positive else np.int32
    encoded = [
        v.encode("utf-8", "surrogateescape") if isinstance(v, str) else v.tobytes() for v in x.reshape(-1)
    ]
    hashes = [murmur_hash_32(data, seed & 0xFFFFFFFF) for data in encoded]
    return np.array(hashes, np.uint32).astype(dtype).reshape(x.shape)


def murmur_hash_32(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 (Appleby)."""
    value = seed
    end = len(data) // BLOCK * BLOCK
    for start in range(0, end, BLOCK):
        value = rotate(value ^ scramble(int.from_bytes(data[start : start + BLOCK], "little")), 13)
        value = (value * 5 + 0xE6546B64) & 0xFFFFFFFF
    value ^= scramble(int.from_bytes(data[end:], "little")) if end < len(data) else 0
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = ((value ^ (value >> shift)) * factor) & 0xFFFFFFFF
    return value ^ (value >> 16)


def scramble(word: int) -> int:
    return rotate(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF


@sparse_matmul.infer(1)
def sparse_infer(inference: Inference) -> Result:
    dtype, a, b = inference.dtype(1), inference.shape(0), inference.shape(1)
    if dtype is None:
        return None
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return TensorType(dtype)
    rows, columns = a[1 if inference.integer("transA") else 0], b[0 if inference.integer("transB") else 1]
    return TensorType(dtype, (rows, columns))


@sparse_matmul.eval(1)
def sparse_kernel(a: SparseTensor | Array, b: Array, *, alpha: float, transA: int, transB: int) -> Array:
    """a: sparse [m, k]; b: [k, n]; result: alpha * a @ b, where transA and transB transpose the operands."""
    left = a.numpy() if isinstance(a, SparseTensor) else a
    product = np.matmul(left.T if transA else left, b.swapaxes(-1, -2) if transB else b)
    return (product * alpha).astype(b.dtype)
