"""Seeds of random samples that differ between versions of the compiler, and are the same in each run of one version."""

from __future__ import annotations

from sampling import seed_range
from sardonyx._src.compile.llvm.sources import sources_digest


def rotating_range(count: int, step: int = 1) -> range:
    """As `seed_range`, from a seed on that the sources of the compiler decide."""
    return seed_range(int(sources_digest()[:8], 16), count, step)
