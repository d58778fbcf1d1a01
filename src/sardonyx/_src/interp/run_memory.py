"""The memory that a run holds: the results of its nodes that have not been freed yet."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.ir import Array
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.run_values import ARRAY_OVERHEAD, RuntimeValue

# Smallest array that is counted; smaller ones count only by the length of their container.
MIN_TRACKED_BYTES = 1 << 10
CONTAINERS = (list, dict)  # no sparse tensors: these belong to the model, since no kernel returns one
UNLIMITED = 1 << 62


class RunMemory:
    """Counts the arrays that a run computes for as long as they live: values, elements of sequences, scan outputs.

    Arrays that share memory count once.  Feeds and weights, which are read-only, do not count if a node returns them or
    views of them.
    limit: the maximum of `used`.
    used: the bytes that the run holds.
    tracked: a weak reference to each counted array, by the address of the object.
    """

    __slots__ = ("__weakref__", "limit", "tracked", "used")

    def __init__(self, limit: int | None) -> None:
        """limit: the most bytes that the run may hold; None: any number."""
        self.limit = UNLIMITED if limit is None else limit
        self.used = 0
        self.tracked: dict[int, ref[Array]] = {}

    @property
    def available(self) -> int:
        """The bytes that are left, at least 0."""
        return max(self.limit - self.used, 0)

    def add(self, results: Sequence[RuntimeValue], *, takes_sequences: bool = False) -> None:
        """Counts the results of a node.

        takes_sequences: whether the node has a sequence as input; the elements of sequences among its results are then
        counted already.  Raises LimitError if the run then holds more than the limit.
        """
        for result in results:
            if type(result) is np.ndarray:
                if result.nbytes >= MIN_TRACKED_BYTES:
                    self.track(result)
            elif type(result) is PersistentSequence:  # its elements are counted already
                self.check_length(len(result))
            elif isinstance(result, CONTAINERS):
                self.add_container(result, takes_sequences=takes_sequences)
        if self.used > self.limit:
            self.refuse(self.used)

    def add_container(
        self,
        value: list[RuntimeValue] | dict[int, RuntimeValue] | dict[str, RuntimeValue],
        *,
        takes_sequences: bool,
    ) -> None:
        """Counts the arrays in a container, and checks the size of the container itself."""
        self.check_length(len(value))
        if not takes_sequences:
            self.add(list(value.values() if isinstance(value, dict) else value))

    def has_room(self, count: int) -> bool:
        """Whether a container of `count` elements fits into the limit, without the data of its elements."""
        return self.used + count * ARRAY_OVERHEAD <= self.limit

    def check_length(self, count: int) -> None:
        """Raises LimitError for a container of `count` elements that exceeds the limit without the data of its elements."""
        if not self.has_room(count):
            self.refuse(self.used + count * ARRAY_OVERHEAD)

    def track(self, array: Array) -> None:
        """Counts the memory that an array refers to until it is freed."""
        if not array.flags.writeable and array.base is not None:
            return
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        key = id(owner)
        if key in self.tracked or not owner.flags.owndata:
            return
        nbytes = owner.nbytes

        def forget(_: ref[Array], key: int = key, nbytes: int = nbytes) -> None:
            if self.tracked.pop(key, None) is not None:
                self.used -= nbytes

        self.tracked[key] = ref(owner, forget)
        self.used += nbytes

    def reserve(self, nbytes: int) -> None:
        """Counts memory other than results, such as an arena, until `release`; raises LimitError above the limit."""
        if nbytes > self.available:
            self.refuse(self.used + nbytes)
        self.used += nbytes

    def release(self, nbytes: int) -> None:
        self.used -= nbytes

    def clear(self) -> None:
        """Stops counting, at the end of the run."""
        self.tracked.clear()
        self.used = 0

    def refuse(self, nbytes: int) -> None:
        """Raises LimitError."""
        raise LimitError(
            f"a run must hold at most {self.limit} bytes at one time; got {nbytes}", limit="limits.run_bytes"
        )
