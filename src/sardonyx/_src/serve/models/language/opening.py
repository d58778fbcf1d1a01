"""Opening of served language models, which have generated two tokens, or computed a vector, when they are ready.

A model whose encoder reads no text is opened alone: its requests for texts are refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sardonyx._src.generate.embedder import Embedder
from sardonyx._src.generate.generator import Generator
from sardonyx._src.runtime.session.session import Session, release_model
from sardonyx._src.serve.models.language.embedding import TextEmbedding
from sardonyx._src.serve.models.language.folders import is_encoder
from sardonyx._src.serve.models.language.generation import TextGeneration
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.models.statistics import ModelStatistics


def open_language_model(
    name: str, version: str, folder: Path, config: ModelConfig, statistics: ModelStatistics
) -> ServedModel:
    """The model of a folder, which answers requests for texts or vectors, and for tensors as any other.

    Raises what `Generator` and `Embedder` raise.
    """
    options: dict[str, Any] = {
        "engine": config.engine,
        "threads": config.threads,
        "limits": config.limits,
        "start": config.start,
    }
    if is_encoder(folder):
        embedder = Embedder(folder, context=config.language.context, **options)
        embedder.embed_tokens([[0]])
        model = serve_session(name, version, embedder.session, config, statistics)
        model.language = TextEmbedding(embedder, config.scheduling, statistics)
        return model
    language = config.language
    generator = Generator(
        folder,
        context=language.context,
        prefix_bytes=language.prefix_bytes,
        **options,
    )
    if generator.encoder is None or generator.encoder.reads_text:
        generator.generate([0] * (generator.decoder.window or 1), max_tokens=2, min_tokens=2)
    model = serve_session(name, version, generator.session, config, statistics)
    model.language = TextGeneration(generator, language, config.scheduling.max_queue, statistics)
    return model


def serve_session(
    name: str, version: str, session: Session, config: ModelConfig, statistics: ModelStatistics
) -> ServedModel:
    """The session as a served model.  Requests for tensors are not joined to batches: the proof that they may be would read all
    weights."""
    scheduling = replace(config.scheduling, max_batch=1)
    model = ServedModel(name, version, session, replace(config, scheduling=scheduling), statistics)
    release_model(session)  # the roles of inputs and outputs have decoded the model
    return model
