"""Sequences that one loop owns: nothing else refers to them, so that operators edit them in place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from sardonyx._src.ops.api import RuntimeValue

MAX_EDITS = 64  # that a sequence remembers; an observer that missed more of them looks at every element


class OwnedSequence(list[RuntimeValue]):
    """A sequence that remembers its last edits, so that an observer need not look at all elements after each of them.

    version: the number of edits.  versions_seen: by the key of an observer, the version that it has seen last.
    """

    __slots__ = ("edits", "version", "versions_seen")

    def __init__(self, elements: Iterable[RuntimeValue] = ()) -> None:
        super().__init__(elements)
        self.version = 0
        self.versions_seen: dict[int, int] = {}
        self.edits: deque[int] = deque(maxlen=MAX_EDITS)  # indices of insertions; ~index of what was erased

    def insert_element(self, index: int, element: RuntimeValue) -> None:
        """index: from 0 to the length of the sequence."""
        self.insert(index, element)
        self.edits.append(index)
        self.version += 1

    def erase_element(self, index: int) -> None:
        """index: from 0 to the length of the sequence less 1."""
        del self[index]
        self.edits.append(~index)
        self.version += 1

    def inserted_since(self, version: int) -> Sequence[int]:
        """The indices of the elements that a version did not have; all, if that was too long ago."""
        count = self.version - version
        if count > len(self.edits):
            return range(len(self))
        indices: list[int] = []
        for k in range(count, 0, -1):
            edit = self.edits[-k]
            if edit >= 0:
                indices = [i + (i >= edit) for i in indices] + [edit]
            else:
                indices = [i - (i > ~edit) for i in indices if i != ~edit]
        return indices
