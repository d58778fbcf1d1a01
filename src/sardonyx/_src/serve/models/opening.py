"""Opening of served models: a session is warmed up, so that its first request is as fast as later ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.errors import EvaluationError, InputError
from sardonyx._src.ir import Array
from sardonyx._src.measure.feeds import clamp_integers
from sardonyx._src.measure.random_feeds import random_feeds
from sardonyx._src.runtime.session.activity import watch_sessions, write_lines
from sardonyx._src.runtime.session.session import Session, release_model
from sardonyx._src.serve.models.garbage import end_exemption
from sardonyx._src.serve.models.model_config import ModelConfig, object_of
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import RequestFailure
from sardonyx._src.serve.protocol.inference_messages import parse_inputs

LOG = logging.getLogger("sardonyx.serve")


def open_model(
    name: str, version: str, path: Path, config: ModelConfig, statistics: ModelStatistics | None = None
) -> ServedModel:
    """A model that is ready for requests.  Called in a thread, since opening may last minutes.

    statistics: the statistics of the version so far.
    path: a model's file, or the folder of a language model.
    Raises what `Session` raises, and InputError for a model that cannot be served or a warm-up that fails.
    """
    if path.is_dir():
        from sardonyx._src.serve.models.language.opening import open_language_model  # few services have one

        with watch_sessions() as activity, write_lines(activity, partial(log_activity, name, version)):
            model = open_language_model(name, version, path, config, statistics or ModelStatistics())
        end_exemption()
        return model
    with watch_sessions() as activity, write_lines(activity, partial(log_activity, name, version)):
        session = Session(
            path, engine=config.engine, threads=config.threads, limits=config.limits, start=config.start
        )
        model = ServedModel(name, version, session, config, statistics)
        for entry in config.warm_up or ({"sizes": {}},):
            warm_up(model, entry, is_required=bool(config.warm_up))
    release_model(session)  # the proof that rows are independent has decoded the model
    end_exemption()
    return model


def log_activity(name: str, version: str, words: str) -> None:
    """Logs what a model does that takes more than two seconds until it is ready."""
    LOG.info("model %s version %s: %s", name, version, words)


def warm_up(model: ServedModel, entry: object, *, is_required: bool) -> None:
    """Runs the model on configured or generated inputs.

    Generated inputs may be invalid for the model, such as an index out of range: this is an error only if `is_required`.
    """
    settings = object_of("an entry of warm_up", entry)
    try:
        model.executor.warm_up(
            parse_inputs(settings["inputs"], memoryview(b""))
            if "inputs" in settings
            else generate_inputs(model, settings.get("sizes", {}))
        )
    except (EvaluationError, InputError, RequestFailure) as error:
        if is_required:
            raise InputError(
                f"the warm-up of model {model.name!r} failed: {error}", name="warm_up"
            ) from error


def generate_inputs(model: ServedModel, sizes: object) -> dict[str, Array]:
    """Random inputs with these lengths of dimension variables; InputError for lengths that the model cannot have."""
    lengths = object_of("sizes", sizes)
    for name, length in lengths.items():
        if type(length) is not int or not 0 <= length < 1 << 31:
            raise InputError(f"sizes[{name!r}] must be a length >= 0; got {shown(length)}", name="sizes")
    feeds = random_feeds(model.session.inputs, {}, 0, cast("Mapping[str, int]", lengths)).values
    return {name: array_of(value) for name, value in feeds.items()}


def array_of(value: object) -> Array:
    """A generated input in the form of an input of a request."""
    if isinstance(value, str):
        return np.array(value, object)
    return np.asarray(clamp_integers(value))
