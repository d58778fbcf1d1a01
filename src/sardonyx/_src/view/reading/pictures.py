"""Pictures of matrices and kernels, in gray values."""

from __future__ import annotations

import base64

import numpy as np

from sardonyx._src.ir import Array
from sardonyx._src.view.page_data import Picture

SIDE = 64  # pixels of a picture in a page
MOST_KERNELS = 256  # kernels of a convolution that are drawn


def picture_of(array: Array, side: int = SIDE) -> Picture | None:
    """The elements as gray values, the smallest black and the largest white.

    None for tensors of rank below 2, of strings, or of fewer than 4 elements.

    A tensor of rank 3 or more is drawn as its first kernels, the matrices of the last two axes, in rows.
    Longer sides are sampled at equal distances.
    """
    if array.ndim < 2 or array.size < 4 or array.dtype.kind in "OSU":
        return None
    wide = np.abs(array) if array.dtype.kind == "c" else array
    matrix = as_matrix(wide).astype(np.float64)
    matrix = matrix[sample(matrix.shape[0], side)][:, sample(matrix.shape[1], side)]
    pixels = gray(matrix)
    return {
        "width": matrix.shape[1],
        "height": matrix.shape[0],
        "pixels": base64.b64encode(pixels.tobytes()).decode(),
    }


def as_matrix(array: Array) -> Array:
    """A tensor of rank 2 or more as a matrix; the matrices of the last two axes are placed in rows."""
    if array.ndim == 2:
        return array
    kernels = array.reshape(-1, *array.shape[-2:])[:MOST_KERNELS]
    count, height, width = kernels.shape
    columns = max(1, round((count * height / max(width, 1)) ** 0.5))
    rows = -(-count // columns)
    padded = np.zeros((rows * columns, height, width), kernels.dtype)
    padded[:count] = kernels
    return padded.reshape(rows, columns, height, width).swapaxes(1, 2).reshape(rows * height, columns * width)


def sample(size: int, most: int) -> Array:
    """At most `most` positions at equal distances."""
    return np.arange(size) if size <= most else np.linspace(0, size - 1, most).astype(np.int64)


def gray(matrix: Array) -> Array:
    """Gray values of 8 bits; elements that are not finite are black."""
    finite = np.isfinite(matrix)
    if not finite.any():
        return np.zeros(matrix.shape, np.uint8)
    low, high = float(matrix[finite].min()), float(matrix[finite].max())
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (matrix / 2 - low / 2) / max(high / 2 - low / 2, np.finfo(np.float64).tiny) * 255
    return np.where(finite, np.clip(np.nan_to_num(scaled), 0, 255), 0).astype(np.uint8)
