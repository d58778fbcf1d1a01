"""Networks of the zoo: a module of torch, its inputs, and the sizes that one session runs in turn.

A network is a function that makes the module, with the decorator `network`; its docstring says what is special about it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Size = int | str  # a number, or an expression of names of sizes: "8 * H"
Sizes = Mapping[str, int]
Draw = Callable[[np.random.Generator, tuple[int, ...], Sizes], Array]


@dataclass(frozen=True)
class Input:
    """An input of a network.  draw: makes its elements from a random generator, the shape and the sizes."""

    shape: tuple[Size, ...]
    draw: Draw

    def sized(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(evaluate(size, sizes) for size in self.shape)

    def names(self) -> dict[int, str]:
        """Names of the dynamic dims by axis: "8 * H" is called H_8."""
        return {axis: label(size) for axis, size in enumerate(self.shape) if isinstance(size, str)}


@dataclass(frozen=True, eq=False)
class Network:
    """A network.

    make: the module, with seeded weights.  inputs: by name, in the order of the parameters of `forward`.  sizes: four sets;
    the first one is that of exports.
    """

    name: str
    family: str
    make: Callable[[], Any]
    inputs: Mapping[str, Input]
    sizes: Sequence[Sizes]

    def feeds(self, number: int) -> dict[str, Array]:
        """Seeded inputs of the set of sizes of this number."""
        generator = np.random.default_rng([number, *self.name.encode()])
        sizes = self.sizes[number]
        return {name: x.draw(generator, x.sized(sizes), sizes) for name, x in self.inputs.items()}

    @cache  # noqa: B019  # networks live as long as the process
    def digest(self) -> str:
        """Of the sources of the family and of the layers that families share, but not of their format."""
        file = Path(inspect.getfile(self.make))
        trees = [ast.dump(ast.parse(path.read_text())) for path in (file, file.with_name("layers.py"))]
        return hashlib.sha256("".join(trees).encode()).hexdigest()[:12]


NETWORKS: dict[str, Network] = {}


def network(sizes: Sequence[Sizes], **inputs: Input) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Registers the decorated function as the network of its name."""
    assert len(sizes) == 4, f"a network must have four sets of sizes; got {len(sizes)}"

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        family = make.__module__.rpartition(".")[2]
        assert make.__name__ not in NETWORKS, f"two networks are called {make.__name__}"
        NETWORKS[make.__name__] = Network(make.__name__, family, make, inputs, sizes)
        return make

    return register


def sizes(names: str, *rows: tuple[int, ...]) -> list[Sizes]:
    """Sets of sizes: names separated by spaces, and a row of numbers for each set."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


# --- inputs -----------------------------------------------------------------------------------


def normal(*shape: Size) -> Input:
    """Normally distributed float32."""
    return Input(shape, lambda generator, shape, _: generator.standard_normal(shape, np.float32))


def uniform(*shape: Size) -> Input:
    """float32 between 0 and 1."""
    return Input(shape, lambda generator, shape, _: generator.random(shape, np.float32))


def below(limit: Size, *shape: Size) -> Input:
    """int64 from 0 to below `limit`."""
    return Input(shape, lambda generator, shape, sizes: generator.integers(0, evaluate(limit, sizes), shape))


def prefixes(*shape: Size) -> Input:
    """bool: rows that are true up to a random length of at least 1."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...], _: Sizes) -> Array:
        lengths = generator.integers(1, shape[-1] + 1, (*shape[:-1], 1))
        return np.arange(shape[-1]) < lengths

    return Input(shape, draw)


def links(*shape: Size) -> Input:
    """float32 adjacency [..., n, n], symmetric, of zeros and ones, with ones in the diagonal."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...], _: Sizes) -> Array:
        upper = np.triu(generator.random(shape) < 0.4, 1)
        return (upper | np.swapaxes(upper, -1, -2) | np.eye(shape[-1], dtype=bool)).astype(np.float32)

    return Input(shape, draw)


def evaluate(size: Size, sizes: Sizes) -> int:
    """The number of a size."""
    return size if isinstance(size, int) else int(eval(size, {"__builtins__": {}}, dict(sizes)))


def label(size: str) -> str:
    """An identifier for an expression: that of "8 * H" is H_8."""
    words: Iterator[str] = iter(re.findall(r"\w+", size))
    return "_".join(sorted(words, key=str.isdigit))
