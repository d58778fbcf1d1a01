"""Feed mutants: valid models, and feeds of wrong types, shapes, layouts, elements and kinds, on both engines."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from sardonyx._src.ops.api import RuntimeValue

DTYPES = (
    "f4",
    "f8",
    "f2",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u4",
    "u8",
    "?",
    "c8",
    "O",
    "S3",
    "U3",
    ">f4",
    "M8[s]",
    "V3",
)
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 3.4e38, -1.0, 1e9)
EXTREME = (0, 1, -1, 2, 127, 128, 255, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))


class Foreign:
    """An object that no session takes."""


class Hostile:
    """An object whose conversion to an array fails."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("no array")


def mutated_feeds(feeds: Mapping[str, RuntimeValue], rng: random.Random) -> dict[str, object]:
    """Copies of the feeds, one or two of them changed."""
    result: dict[str, object] = dict(feeds)
    for _ in range(rng.choice((1, 1, 2))):
        names = list(result)
        draw = rng.random()
        if names and draw < 0.03:
            del result[rng.choice(names)]
        elif draw < 0.05:
            result[rng.choice(("", "unknown", "\0", "x" * 1000))] = np.ones(2, np.float32)
        elif names:
            name = rng.choice(names)
            result[name] = mutated_value(result[name], rng)
    return result


def mutated_value(value: object, rng: random.Random) -> object:
    """Another value in place of this one: mostly an array with other elements, in another layout, shape or type."""
    if not isinstance(value, np.ndarray) or rng.random() < 0.06:
        return rng.choice(
            (
                None,
                [],
                [value],
                {},
                {"a": 1},
                Foreign(),
                Hostile(),
                1,
                -1,
                2**70,
                1.5,
                "text",
                b"bytes",
                [[1], [1, 2]],
                object,
            )
        )
    match rng.randrange(6):
        case 0 | 1:
            return with_elements(value, rng)
        case 2:
            return in_layout(value, rng)
        case 3:
            return in_shape(value, rng)
        case 4:
            try:
                with np.errstate(all="ignore"):
                    return value.astype(rng.choice(DTYPES))
            except (TypeError, ValueError, OverflowError):
                return value
    return np.zeros(
        [rng.choice((0, 1, 2, 3)) for _ in range(rng.choice((0, 1, 2, 3, 4, 5, 32)))], value.dtype
    )


def with_elements(value: np.ndarray, rng: random.Random) -> object:
    """The array with some or all elements zero or extreme."""
    copy = value.copy()
    pool = EXTREME if copy.dtype.kind in "iu" else SPECIAL
    if copy.size == 0 or copy.dtype.kind not in "iuf":
        return copy
    flat = copy.reshape(-1)
    for _ in range(rng.choice((1, 2, 5))):
        element = rng.choice(pool)
        if copy.dtype.kind in "iu":
            limits = np.iinfo(copy.dtype)
            element = max(limits.min, min(limits.max, element))
        start = rng.randrange(copy.size)
        flat[start : start + rng.choice((1, 1, copy.size))] = element
    return flat.reshape(value.shape)


def in_layout(value: np.ndarray, rng: random.Random) -> object:
    """The same elements with other strides, alignment or rights."""
    match rng.randrange(5):
        case 0:
            return np.asfortranarray(value)
        case 1:
            return np.repeat(value, 2, axis=-1)[..., ::2] if value.ndim else value
        case 2:
            return np.flip(np.flip(value).copy()) if value.ndim else value
        case 3 if value.dtype.kind in "iufb" and value.dtype.itemsize > 1:
            memory = np.empty(value.nbytes + 1, np.uint8)[1:].view(value.dtype).reshape(value.shape)
            memory[...] = value
            return memory
    copy = value.copy()
    copy.flags.writeable = False
    return copy


def in_shape(value: np.ndarray, rng: random.Random) -> object:
    """The array with an axis more or fewer, transposed, cut or broadcast to a size of no memory."""
    match rng.randrange(5):
        case 0:
            return value[None]
        case 1:
            return value.reshape(-1)
        case 2:
            return value.T
        case 3 if value.ndim and value.shape[0]:
            return value[:-1]
    return np.broadcast_to(value, (rng.choice((1, 2, 3)), *value.shape))
