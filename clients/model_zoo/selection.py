"""The variants of a network that a run judges: all of them, or a few that take turns from network to network."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from model_zoo.exports import Export
from model_zoo.judge import Variant
from model_zoo.registry import Network
from model_zoo.rewriting import REWRITERS

SETS = {"dynamo": (18, 24), "script": (16, 20)}  # TorchScript needs 16 for attention and GridSample


def every_variant(network: Network) -> Iterator[Variant]:
    """Dynamic sizes in all exports and rewritings; fixed sizes of each set in both exporters."""
    for exporter, sets in SETS.items():
        for opset in sets:
            yield from (Variant(Export(exporter, opset), rewriter) for rewriter in REWRITERS)
        for number in range(len(network.sizes)):
            export = Export(exporter, sets[number % 2], number)
            yield Variant(export, ("", "onnxslim", "onnxruntime", "gradient")[number])


def rotating_variants(turn: int) -> Iterator[Variant]:
    """An export of each exporter, plain and rewritten, fixed sizes, and gradients of one of them; `turn` tells networks apart."""
    rewriters = ("onnxslim", "onnxruntime", "optimize", "convert")
    for place, (exporter, sets) in enumerate(SETS.items()):
        export = Export(exporter, sets[(turn + place) % 2])
        yield Variant(export)
        yield Variant(export, rewriters[(turn // 2 + place) % 4])
        if (turn // 8 + place) % 2:
            yield Variant(export, "gradient")
    yield Variant(Export("script", SETS["script"][turn % 2], (1, 3)[turn // 2 % 2]))  # mostly of batches of 1


def variants_of(network: Network, *, every: bool) -> Iterable[Variant]:
    """All variants, or those of the rotation, which the name of the network decides."""
    return every_variant(network) if every else rotating_variants(zlib.crc32(network.name.encode()))
