"""What a generator changes of a decoder: logits of the last position alone, and caches with room."""

from __future__ import annotations

from sardonyx._src.io.loading.model_sources import DecoderEdit
from sardonyx._src.ir import Model
from sardonyx._src.rewrite.cache_room import add_cache_room
from sardonyx._src.rewrite.last_position import keep_last_position


def edit_decoder(model: Model, edit: DecoderEdit | None) -> Model:
    """The edited copy of a model; the model itself if nothing of it changes."""
    if edit is None:
        return model
    if edit.last_output:
        model = keep_last_position(model, edit.last_output)
    return add_cache_room(model) if edit.has_room else model
