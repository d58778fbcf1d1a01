"""Caches that a run continues: in the memory of the tokens before, where that has room, or in a copy that has."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.generate.decoder.cache_memory import CacheClaim, move_entries
from sardonyx._src.generate.decoder.decoder_model import DecoderModel
from sardonyx._src.generate.decoder.feeds import Alignment, longest
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array


def continue_caches(
    decoder: DecoderModel,
    caches: Mapping[str, Array],
    claim: CacheClaim | None,
    lengths: Array,
    tokens: Array,
    expected: int,
    cancellation: CancellationToken | None,
    alignment: Alignment = "start",
) -> tuple[Array, Mapping[str, Array], CacheClaim | None]:
    """A run of the decoder (`DecoderModel.run`), in memory that has room for `expected` tokens; also a claim of this memory.

    claim: of the memory of the caches; where it may not be continued, they are copied.
    """
    if not decoder.updated:
        return *decoder.run(caches, lengths, tokens, cancellation, alignment), None
    before = longest(lengths)
    length = before + tokens.shape[1]
    decoder.check_fits(length)
    longer = claim.memory.extend(claim, length) if claim is not None else None
    if longer is None:
        longer = move_entries(caches, decoder.updated, before, expected).claim(length)
    memory = longer.memory
    try:
        feeds = {name: caches[name] for name in caches if name not in memory.arrays}
        feeds.update(memory.arrays)
        logits, others = decoder.run(feeds, lengths, tokens, cancellation, alignment, memory.outputs)
    except BaseException:
        memory.is_abandoned = True  # a unit of the run may go on and write to it
        raise
    return logits, memory.views(length, others), longer
