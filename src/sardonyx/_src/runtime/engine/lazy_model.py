"""Lazily decoded models: a cached program runs without the graph of its model until something needs it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from sardonyx._src.io.loading.file_formats import FileData
from sardonyx._src.io.loading.model_sources import TEXT_SUFFIXES, DecoderEdit, map_or_read
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Model


class LazyModel:
    """The encoded model of a cached program, decoded at first use.

    A file is mapped at construction, so that a path which later names another file does no harm.
    data: the bytes of the model, or its mapped file.
    interface: a model with the same inputs and outputs, and nothing else.
    edit: what its program differs in; None for nothing.
    """

    def __init__(self, source: Path | bytes, interface: Model, edit: DecoderEdit | None = None) -> None:
        """Raises OSError for a file that cannot be read."""
        self.interface, self.edit = interface, edit
        self.data: FileData
        if isinstance(source, bytes):
            self.data = source
        else:
            assert source.suffix not in TEXT_SUFFIXES, f"{source} is a text file, which cannot be mapped"
            self.data = map_or_read(source, 0)  # 0: small files are mapped, too, since few sessions read them

    @cached_property
    def model(self) -> Model:
        """The decoded model, with copies of all weights.

        Raises what `load` raises, and FileChanged if the file was changed in place.
        """
        if isinstance(self.data, MappedFile):
            self.data.require_unchanged()
        from sardonyx._src.io.loading.load import load  # lazy: few sessions read their model

        model = load(memoryview(self.data))
        if self.edit is None:
            return model
        from sardonyx._src.rewrite.decoder_edit import edit_decoder  # lazy: only decoders

        return edit_decoder(model, self.edit)

    def release(self) -> None:
        """Drops the decoded model, and releases the pages of its file.  The model is decoded again if it is needed."""
        self.__dict__.pop("model", None)
        if isinstance(self.data, MappedFile):
            release_pages(np.frombuffer(self.data, np.uint8))
