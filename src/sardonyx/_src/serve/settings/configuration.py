"""Configuration files of services: the settings of `ServiceSettings` in TOML, with tables `limits` and `models`.

repository = "models"
host = "0.0.0.0"
token_file = "token"
[limits]
body = "256M"
[models]
threads = 2
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from sardonyx._src.arguments import shown
from sardonyx._src.errors import InputError
from sardonyx._src.serve.models.model_config import ModelConfig, parse_config
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.settings.logs import LOG_FORMS
from sardonyx._src.serve.settings.service_settings import ServiceSettings
from sardonyx._src.suggestions import suggest

PATHS = ("repository", "token_file", "certificate", "key")
MAX_PROCESSES = 1024
SIZE_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}  # powers of 2


def read_configuration(path: Path) -> dict[str, object]:
    """The settings in a file by name; paths in it are relative to its folder.  Raises InputError and OSError."""
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} must be TOML: {error}", name="config") from None
    for name in PATHS:
        if isinstance(settings.get(name), str):
            settings[name] = path.parent / settings[name]
    return settings


def parse_settings(values: Mapping[str, object]) -> ServiceSettings:
    """The settings with these values; raises InputError for wrong names and values."""
    names = [f.name for f in fields(ServiceSettings)]
    for name in values:
        if name not in names:
            raise InputError(f"there is no setting {name!r}{suggest(name, names, 'settings')}", name=name)
    if "repository" not in values:
        raise InputError("a repository, the folder of models, is required", name="repository")
    parsed = {name: parse_value(name, value) for name, value in values.items()}
    settings = ServiceSettings(**parsed)
    if settings.key is not None and settings.certificate is None:
        raise InputError("a key requires a certificate", name="key")
    if settings.processes > 1 and sys.platform != "linux":
        why = "processes must be 1 where the system does not spread the connections of a port over them, as Linux does"
        raise InputError(f"{why}; got {settings.processes}", name="processes")
    return settings


def parse_value(name: str, value: object) -> Any:
    """The value of a setting."""
    match name:
        case "limits":
            return parse_service_limits(value)
        case "models":
            return value if isinstance(value, ModelConfig) else parse_config(value, ModelConfig())
        case "log":
            return require(name, value in LOG_FORMS, value, " or ".join(LOG_FORMS))
        case "port" | "grpc_port":
            return require(name, type(value) is int and 0 <= value < 1 << 16, value, "a number below 65536")
        case "processes":
            is_count = type(value) is int and 1 <= value <= MAX_PROCESSES
            return require(name, is_count, value, f"a number from 1 to {MAX_PROCESSES}")
        case "access_log" | "control" | "metrics":
            return require(name, isinstance(value, bool), value, "true or false")
        case "traces":
            is_address = isinstance(value, str) and value.startswith(("http://", "https://"))
            return require(name, is_address, value, "an address, as http://localhost:4318/v1/traces")
        case "drain_seconds" | "grace_seconds" | "watch_seconds":
            return parse_seconds(name, value, zero=name != "watch_seconds")
    if name in PATHS:
        return Path(require(name, isinstance(value, str | Path), value, "a path"))
    return require(name, isinstance(value, str), value, "a text")


def parse_service_limits(value: object) -> ServiceLimits:
    """The limits that a table states."""
    require("limits", isinstance(value, Mapping), value, "a table")
    assert isinstance(value, Mapping)
    defaults = {f.name: f.default for f in fields(ServiceLimits) if f.default is not MISSING}
    parsed: dict[str, Any] = {}
    for name, item in value.items():
        if name not in defaults:
            raise InputError(f"there is no limit {name!r}{suggest(name, defaults, 'limits')}", name=name)
        parsed[name] = (
            parse_seconds(name, item) if name.endswith("_seconds") else parse_size(f"limits.{name}", item)
        )
    return ServiceLimits(**parsed)


def parse_seconds(name: str, value: object, *, zero: bool = False) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    require(name, is_number and (zero or value != 0), value, f"seconds {'>=' if zero else '>'} 0")
    assert isinstance(value, int | float)
    return float(value)


def parse_size(name: str, value: object) -> int:
    """A size: a number >= 1, or a string of a number with K, M, G or T for powers of 1024."""
    text = str(value) if isinstance(value, str) or type(value) is int else ""
    shift = SIZE_UNITS.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    is_size = digits.isascii() and digits.isdecimal() and len(digits) < 16 and int(digits) > 0
    require(name, is_size, value, 'a number >= 1, as 1000 or "64M"')
    return int(digits) << shift


def require(name: str, is_valid: bool, value: object, expected: str) -> Any:
    """The value; raises InputError unless it is valid."""
    if not is_valid:
        raise InputError(f"{name} must be {expected}; got {shown(value)}", name=name)
    return value
