"""The configuration of a model in a repository: `config.json` in its folder.

    {"versions": "latest", "engine": "auto", "threads": 2, "limits": {"seconds": 5}, "warm_up": [{"sizes": {"N": 8}}],
     "scheduling": {"workers": 2, "max_queue": 100, "max_batch": 16, "batch_delay": 0.002},
     "sequences": {"states": {"h_in": "h_out"}, "idle_seconds": 60}, "language": {"prefix_bytes": 1000000}}

All fields are optional, and unknown ones are errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from sardonyx._src.arguments import require_choice, require_integer, shown
from sardonyx._src.compile.llvm.kernel_origin import STARTS, Start
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.session.session import ENGINES, Engine
from sardonyx._src.serve.models.language.options import LanguageOptions
from sardonyx._src.serve.models.scheduler.options import SchedulerOptions, SequenceOptions
from sardonyx._src.suggestions import suggest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OptionsT = TypeVar("OptionsT", bound="DataclassInstance")
VersionPolicy = Literal["latest", "all"] | tuple[int, ...]
MAX_CONFIG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The configuration of a model.

    versions: which versions are served: the newest, all, or those listed.
    engine, threads, limits, start: arguments of `Session`.
    warm_up: runs before the model is ready.  Each entry has either `sizes` (lengths of dimension variables, for generated
        inputs) or `inputs` (as in a request); empty: one run with 1 for every open size.
    scheduling: queue, workers and batches.
    sequences: states between requests; None: no request depends on another.
    language: how a language model generates.
    """

    versions: VersionPolicy = "latest"
    engine: Engine = "auto"
    threads: int | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    warm_up: tuple[Mapping[str, object], ...] = ()
    scheduling: SchedulerOptions = field(default_factory=SchedulerOptions)
    sequences: SequenceOptions | None = None
    start: Start = "library"
    language: LanguageOptions = field(default_factory=LanguageOptions)


def read_config(path: Path, defaults: ModelConfig) -> ModelConfig:
    """The configuration in a file, with `defaults` for missing fields; raises InputError for anything that is wrong."""
    with path.open("rb") as file:
        data = file.read(MAX_CONFIG_BYTES + 1)
    if len(data) > MAX_CONFIG_BYTES:
        raise InputError(f"{path} must have at most {MAX_CONFIG_BYTES} bytes; got more", name="config")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} must be JSON: {error}", name="config") from None
    try:
        return parse_config(value, defaults)
    except (InputError, TypeError) as error:
        raise InputError(f"{path}: {error}", name="config") from None


def parse_config(value: object, defaults: ModelConfig) -> ModelConfig:
    """The configuration that a JSON object describes.  Raises InputError and TypeError."""
    settings = object_of("the configuration", value)
    names = [f.name for f in fields(ModelConfig)]
    for name in settings:
        if name not in names:
            raise InputError(f"there is no setting {name!r}{suggest(name, names, 'settings')}", name=name)
    values = {name: getattr(defaults, name) for name in names} | dict(settings)
    require_choice("engine", values["engine"], ENGINES)
    require_integer("threads", values["threads"], 1, optional=True)
    require_choice("start", values["start"], STARTS)
    return ModelConfig(
        parse_versions(values["versions"]),
        cast(Engine, values["engine"]),
        cast("int | None", values["threads"]),
        parse_limits(values["limits"]),
        parse_warm_up(values["warm_up"]),
        parse_options("scheduling", SchedulerOptions, values["scheduling"]),
        None
        if values["sequences"] is None
        else parse_options("sequences", SequenceOptions, values["sequences"]),
        cast(Start, values["start"]),
        parse_options("language", LanguageOptions, values["language"]),
    )


def parse_versions(value: object) -> VersionPolicy:
    if value in ("latest", "all"):
        return cast(VersionPolicy, value)
    if isinstance(value, list | tuple) and value and all(type(v) is int and v > 0 for v in value):
        return tuple(value)
    raise InputError(
        f'versions must be "latest", "all" or a list of numbers >= 1; got {shown(value)}', name="versions"
    )


def parse_options(what: str, options: type[OptionsT], value: object) -> OptionsT:
    """An object of options, a dataclass, from the settings of a JSON object."""
    if isinstance(value, options):
        return value
    settings = object_of(what, value)
    names = [f.name for f in fields(options)]
    for name in settings:
        if name not in names:
            raise InputError(
                f"{what} has no setting {name!r}{suggest(name, names, 'settings')}", name=f"{what}.{name}"
            )
    return options(**settings)


def parse_limits(value: object) -> RunLimits:
    limits = parse_options("limits", RunLimits, value)
    if not 0 < limits.seconds <= math.inf:
        raise InputError(f"limits.seconds must be > 0; got {limits.seconds}", name="limits.seconds")
    return limits


def parse_warm_up(value: object) -> tuple[Mapping[str, object], ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputError(f"warm_up must be a list of objects; got {shown(value)}", name="warm_up")
    for item in value:
        if object_of("an entry of warm_up", item).keys() not in ({"sizes"}, {"inputs"}):
            raise InputError(
                f'an entry of warm_up must have "sizes" or "inputs"; got {shown(item)}', name="warm_up"
            )
    return tuple(value)


def object_of(what: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a JSON object; got {shown(value)}", name=what)
    return value
