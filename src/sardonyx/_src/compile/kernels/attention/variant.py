"""Specialization key of the attention kernels: which masks and bounds a kernel applies to the scores."""

from __future__ import annotations

from typing import Literal

from sardonyx._src.compile.codegen import Element
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AttentionVariant:
    """The variant of a kernel; its `key` is part of the kernel's cache key.

    mask_type: the element type of the attention mask, "" without one: floats are added to scores, a false bool hides a key.
    causal: whether each query has its own upper key bound.
    windowed: whether each query has its own lower key bound.
    has_lengths: whether each batch has its own number of valid keys, known at run time.
    has_softcap: whether scores are softcapped.
    zero_masked_rows: whether a query for which every key is masked yields zeros (only if `can_mask_rows`); otherwise it
        yields NaN.
    """

    mask_type: Literal["", "float", "bool"] = ""
    causal: bool = False
    windowed: bool = False
    has_lengths: bool = False
    has_softcap: bool = False
    zero_masked_rows: bool = False

    @property
    def key(self) -> str:
        flags = {
            "ahead": self.causal,
            "behind": self.windowed,
            "lengths": self.has_lengths,
            "capped": self.has_softcap,
            "zeros": self.zero_masked_rows,
        }
        suffixes = (self.mask_type, *(name for name, is_set in flags.items() if is_set))
        return "_".join(("attention_f32", *filter(None, suffixes)))

    @property
    def can_mask_rows(self) -> bool:
        """Whether every key of a query may be masked."""
        return bool(self.mask_type) or self.causal or self.windowed or self.has_lengths

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors that have heads."""
        return ("q", "k", "v", "y", "mask") if self.mask_type else ("q", "k", "v", "y")

    def element(self, name: str) -> Element:
        """The element type of a tensor."""
        return "i8" if name == "mask" and self.mask_type == "bool" else "float"
