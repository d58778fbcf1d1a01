"""The cores and caches of this machine, as Linux describes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.runtime.limits.control_groups import ROOT, read_words

CPUS = "sys/devices/system/cpu"
# Groups of Intel's hybrid processors.  Elsewhere kinds of cores differ in `cpu_capacity`, relative to 1024 for the fastest.
INTEL_KINDS = {"performance": "sys/devices/cpu_core/cpus", "efficiency": "sys/devices/cpu_atom/cpus"}
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True, order=True)
class CacheLevel:
    """A cache for data of a core: its level, its bytes, those of a line, and the logical processors that share it."""

    level: int
    bytes: int
    line: int
    shared_by: int


@dataclass(frozen=True, slots=True)
class CoreKind:
    """The logical processors of one kind of cores."""

    name: str
    processors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """What is known of a machine's cores; empty where the system does not say.

    processors: the numbers of the logical processors that are online.
    cores: physical cores, of which those with simultaneous multithreading (SMT) are several logical processors.
    kinds: more than one on a hybrid processor.
    caches: each distinct cache once, by level; kinds of cores may have different ones.
    """

    processors: tuple[int, ...] = ()
    cores: int = 0
    kinds: tuple[CoreKind, ...] = ()
    caches: tuple[CacheLevel, ...] = ()

    def cache_bytes(self, level: int) -> int:
        """The bytes of the largest cache of a level; 0 if there is none."""
        return max((cache.bytes for cache in self.caches if cache.level == level), default=0)


def read_topology(root: Path = ROOT) -> Topology:
    """The cores and caches that /sys describes.  root: the root of the file system; tests pass another one."""
    folders = [path for path in (root / CPUS).glob("cpu[0-9]*") if (path / "topology").is_dir()]
    numbers = tuple(sorted(int(path.name[3:]) for path in folders))
    cores = {tuple(read_words(path / "topology/thread_siblings_list")) or (path.name,) for path in folders}
    caches = sorted({cache for path in folders for cache in caches_of(path)})
    return Topology(numbers, len(cores), tuple(core_kinds(root, numbers)), tuple(caches))


def core_kinds(root: Path, numbers: Sequence[int]) -> Iterator[CoreKind]:
    """The kinds of cores, the fastest first; none if all are alike."""
    intel = {name: {*parse_list(first_word(root / path))} & {*numbers} for name, path in INTEL_KINDS.items()}
    if all(intel.values()):
        yield from (CoreKind(name, tuple(sorted(members))) for name, members in intel.items())
        return
    capacity = {n: first_word(root / CPUS / f"cpu{n}/cpu_capacity") for n in numbers}
    words = {word for word in capacity.values() if word.isdecimal()}
    for word in sorted(words, key=int, reverse=True) if len(words) > 1 else ():
        yield CoreKind(f"capacity {word}", tuple(n for n in numbers if capacity[n] == word))


def caches_of(folder: Path) -> Iterator[CacheLevel]:
    """The caches of a logical processor that hold data."""
    for number in count():
        name = f"{folder}/cache/index{number}"  # not `glob` and paths, which take longer than all reads
        kind = first_word(f"{name}/type")
        if not kind:
            return
        if kind in ("Data", "Unified"):
            yield from described_cache(name)


def described_cache(name: str) -> Iterator[CacheLevel]:
    """The cache that a folder describes, if it states its level and size."""
    level, line, size = (first_word(f"{name}/{file}") for file in ("level", "coherency_line_size", "size"))
    if level.isdecimal() and parse_size(size):
        shared = len(parse_list(first_word(f"{name}/shared_cpu_list")))
        yield CacheLevel(int(level), parse_size(size), int(line) if line.isdecimal() else 0, max(shared, 1))


def parse_size(text: str) -> int:
    """The bytes of a size such as `32K`; 0 for anything else."""
    digits, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    return int(digits) * unit if digits.isdecimal() else 0


def parse_list(text: str) -> list[int]:
    """The numbers of a list such as `0-3,8`; none for anything else."""
    ends = [part.split("-") for part in text.split(",")]
    if not all(len(pair) <= 2 and all(map(str.isdecimal, pair)) for pair in ends):
        return []
    return [number for pair in ends for number in range(int(pair[0]), int(pair[-1]) + 1)]


def first_word(path: Path | str) -> str:
    return next(iter(read_words(path)), "")
