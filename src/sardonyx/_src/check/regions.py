"""The parts of files that the external tensors of a model take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.check.context import Document, Region
from sardonyx._src.check.external import entry, location_of, number
from sardonyx._src.check.reading import bodies_of
from sardonyx._src.check.tensors import bytes_of, is_external
from sardonyx._src.proto import messages as m


def region_of(tensor: m.TensorProto) -> Region | None:
    """Where a tensor's data lie in their file; None for one without external data, or whose entries make no sense."""
    wanted = bytes_of(tensor) if is_external(tensor) and location_of(tensor) is not None else None
    offset = entry(tensor, "offset")
    start = 0 if offset is None else number(offset)
    return Region(start, start + wanted) if wanted and start is not None else None


def regions_of(document: Document, location: str) -> Sequence[Region]:
    """The regions of a file that the model's tensors take, each once, by their starts, the longest first."""
    if document.regions is None:
        found: dict[str, set[Region]] = {}
        for tensor in tensors_of(document.model) if document.model is not None else ():
            region = region_of(tensor)
            if region is not None:
                found.setdefault(entry(tensor, "location") or "", set()).add(region)
        document.regions = {
            name: sorted(some, key=lambda r: (r.start, -r.end)) for name, some in found.items()
        }
    return document.regions.get(location, ())


def tensors_of(model: m.ModelProto) -> Iterator[m.TensorProto]:
    """The initializers and attributes of all graphs and functions, parts of sparse tensors included."""
    for _, body in bodies_of(model):
        sparse: list[m.SparseTensorProto] = []
        if isinstance(body, m.GraphProto):
            yield from body.initializer
            sparse += body.sparse_initializer
        for node in body.node:
            for one in node.__dict__.get("attribute") or ():
                if one.t is not None:
                    yield one.t
                yield from one.tensors
                sparse += [one.sparse_tensor] if one.sparse_tensor is not None else one.sparse_tensors
        for each in sparse:
            yield from (part for part in (each.values, each.indices) if part is not None)


def overlapped(regions: Sequence[Region], region: Region) -> Region | None:
    """The first region that takes a part of another, of those that begin before it or are longer."""
    for other in regions:
        if other == region:
            return None
        if other.end > region.start:
            return other
    return None


def unused(regions: Sequence[Region], size: int) -> int:
    """How many bytes of a file no region has, but for the padding in front of aligned ones and of the end."""
    count = reach = 0
    for start in (*(r.start for r in regions), size):
        gap = start - reach
        count += gap if gap >= start & -start else 0
        reach = max([reach, *(r.end for r in regions if r.start == start)])
    return count
