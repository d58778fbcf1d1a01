"""What a kernel of attention does besides the two products and the softmax between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Form:
    """What kernels are told apart by.

    masked: the element type of a mask: numbers are added to scores, truth values say which keys count.  ahead, behind:
    whether the keys of a query end, and begin, at a place of its own.  lengths: whether each batch has a number of keys
    of its own, told at run time.  capped: whether scores are kept within a bound.  zeros: whether a query that may look
    at no key is answered by zeros; otherwise by NaN.
    """

    masked: Literal["", "float", "bool"] = ""
    ahead: bool = False
    behind: bool = False
    lengths: bool = False
    capped: bool = False
    zeros: bool = False

    @property
    def key(self) -> str:
        words = ("ahead", "behind", "lengths", "capped", "zeros")
        chosen = [self.masked, *(word for word in words if getattr(self, word))]
        return "_".join(("attention_f32", *filter(None, chosen)))

    @property
    def hides(self) -> bool:
        """Whether there may be queries that look at no key."""
        return bool(self.masked) or self.ahead or self.behind or self.lengths
