"""Vendor domains: operator sets that a runtime defines outside of ONNX; `catalogue` has their signatures, too.

The signatures are those of onnxruntime.  Its optimizer and the builder of onnxruntime-genai write such operators into
models, some of them into the domain ai.onnx.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

VENDOR_DIR = Path(__file__).parent / "vendors"
NEWEST_VERSIONS = {"com.microsoft": 1}


def vendor_domains() -> tuple[str, ...]:
    """The vendor domains for which there are signatures."""
    return tuple(NEWEST_VERSIONS)


def is_vendor_operator(domain: str, op_type: str) -> bool:
    """Whether an operator of a canonical domain is a vendor's: it is in a vendor domain, or has a vendor's name in ai.onnx."""
    return domain in NEWEST_VERSIONS or (domain == "" and op_type in vendor_names(""))


@cache
def vendor_names(domain: str) -> frozenset[str]:
    """The names of the operators that vendors define in a canonical domain."""
    if domain and domain not in NEWEST_VERSIONS:
        return frozenset()
    folder = VENDOR_DIR / (domain or "ai.onnx")
    return frozenset(file.removesuffix(".json") for file in os.listdir(folder))
