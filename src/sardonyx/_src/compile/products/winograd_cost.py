"""Whether Winograd's way is shorter than the direct one, and with which forms: estimates, fitted to measurements.

A cost is in cycles of a core with vectors of 16 lanes, two multiply-adds a cycle.  It counts products, the ways there
and back, and weights from memory, which arrive in part while products are made.
"""

from __future__ import annotations

from itertools import product

from sardonyx._src.compile.products.winograd_form import FOUR, TAPS, TWO
from sardonyx._src.compile.products.winograd_tiles import LINE, Forms
from sardonyx._src.ir.dims import Known

FORMS = [Forms(*pair) for pair in product((FOUR, TWO), repeat=2)]
FEWEST = 8  # channels below which vectors along them are too short
NARROW = 4  # rows of a product that cost as much as fewer do: their weights come no faster
WAYS = 4.2  # cycles for a vector of a point, there and back together
BYTES = 7.0  # of weights from memory in a cycle
OVERLAP = 0.5  # of the shorter one of two that are done at once is hidden behind the longer one
DIRECT = 1.05  # what products of a direct convolution cost, as a share of those at the peak


def pays(images: Known, rows: Known, columns: Known, channels: int, features: int) -> bool:
    """Whether some form beats the direct convolution; sizes are those of the result, and channels before it."""
    return forms_for(images, rows, columns, channels, features) is not None


def forms_for(images: Known, rows: Known, columns: Known, channels: int, features: int) -> Forms | None:
    """The forms that cost least, None if the direct convolution does.

    Images whose size is not known are taken for large, as many as are not known for one.
    """
    if channels < FEWEST or features == 0:
        return None
    if not isinstance(rows, int) or not isinstance(columns, int):
        return FORMS[0]
    pixels = (images if isinstance(images, int) else 1, rows, columns)
    best = min(FORMS, key=lambda forms: cost(pixels, channels, features, forms))
    return best if cost(pixels, channels, features, best) < direct_cost(pixels, channels, features) else None


def cost(pixels: tuple[int, int, int], channels: int, features: int, forms: Forms) -> float:
    images, rows, columns = pixels
    tiles = images * -(-rows // forms.vertical.outputs) * -(-columns // forms.horizontal.outputs)
    ways = tiles * forms.points * (vectors(channels) + vectors(features)) * WAYS / 2
    return ways + at_once(max(tiles, NARROW), forms.points, channels, features)


def direct_cost(pixels: tuple[int, int, int], channels: int, features: int) -> float:
    images, rows, columns = pixels
    return at_once(images * rows * columns, TAPS * TAPS, channels, features) * DIRECT


def at_once(rows: int, points: int, channels: int, features: int) -> float:
    """Products of so many rows at each point, while weights arrive."""
    products = rows * points * channels * vectors(features) / 2
    arrival = points * channels * features * 4 / BYTES
    return max(products, arrival) + (1 - OVERLAP) * min(products, arrival)


def vectors(floats: int) -> int:
    return -(-floats // LINE)
