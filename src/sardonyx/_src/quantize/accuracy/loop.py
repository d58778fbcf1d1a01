"""Layers return to floats, in the order of their share of the error, until a bound on the loss holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.quantize.accuracy.record import LossRecord

# The loss of the model whose layers of these keys are quantized.
Evaluate = Callable[[Sequence[str]], float]


@dataclass(frozen=True, slots=True)
class AccurateLayers:
    """The layers with which the bound holds.

    quantized: their keys, in the order of the graph.
    returned: the keys of the others, those with the greatest share of the error first, and the loss of each one alone.
    loss: of the model.
    """

    quantized: Sequence[str]
    returned: Sequence[tuple[str, float]]
    loss: float


def meet_bound(
    keys: Sequence[str],
    evaluate: Evaluate,
    bound: float,
    record: LossRecord,
    progress: Callable[[int, int], None],
) -> AccurateLayers:
    """Returns the fewest layers, in this order, for which the bound holds, if fewer quantized layers never have a greater loss.

    A layer's share is the loss of the model in which it alone is quantized.  The count is bisected: each step evaluates one
    model, and the record answers what it has seen.
    """
    everything = record.loss(keys, evaluate)
    if everything <= bound:
        return AccurateLayers(keys, (), everything)
    shares = []
    for done, key in enumerate(keys, 1):
        shares.append((key, record.loss([key], evaluate)))
        progress(done, len(keys))
    order = sorted(shares, key=lambda item: -item[1])

    def rest(count: int) -> list[str]:
        out = {key for key, _ in order[:count]}
        return [key for key in keys if key not in out]

    low, high = 1, len(keys)  # the bound does not hold below, and holds without quantized layers
    while low < high:
        middle = (low + high) // 2
        if record.loss(rest(middle), evaluate) <= bound:
            high = middle
        else:
            low = middle + 1
    return AccurateLayers(rest(high), tuple(order[:high]), record.loss(rest(high), evaluate))
