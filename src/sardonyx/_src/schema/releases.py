"""Domains and releases: the opset versions, released or under development, and the release of ONNX that introduced each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import TypedDict, cast

from sardonyx._src.dataclass import dataclass
from sardonyx._src.schema.records import DEVELOPMENT_DIR, SCHEMA_DIR
from sardonyx._src.schema.vendors import NEWEST_VERSIONS


@dataclass(frozen=True, slots=True)
class Release:
    """A release of ONNX: its IR version and the newest opset version of each domain that it published."""

    name: str
    ir_version: int
    opsets: Mapping[str, int] = field(hash=False)


class ReleaseRecord(TypedDict):
    """A release as `releases.json` lists it."""

    release: str
    ir_version: int
    opsets: dict[str, int]


class ReleasesFile(TypedDict):
    """The content of `releases.json`; domains: the oldest and the newest opset version of each domain."""

    domains: dict[str, tuple[int, int]]
    releases: list[ReleaseRecord]


def canonical(domain: str) -> str:
    """The canonical name of a domain: "" for "ai.onnx", every other name unchanged."""
    return "" if domain == "ai.onnx" else domain


@cache
def _file() -> ReleasesFile:
    return cast(ReleasesFile, json.loads((SCHEMA_DIR / "releases.json").read_bytes()))


@cache
def _under_development() -> dict[str, int]:
    ahead = cast(dict[str, int], json.loads((DEVELOPMENT_DIR / "domains.json").read_bytes()))
    return {canonical(domain): version for domain, version in ahead.items()}


@cache
def _latest() -> dict[str, int]:
    return {canonical(domain): newest for domain, (_, newest) in _file()["domains"].items()}


@cache
def domains() -> tuple[str, ...]:
    """The domains that ONNX defines; "" is ai.onnx, and ai.onnx.training has a version but no operators."""
    return tuple(_latest())


def is_standard(domain: str) -> bool:
    """Whether ONNX defines a domain, by its canonical name."""
    return domain in _latest()


def latest(domain: str) -> int:
    """The newest released opset version of a domain in `domains()` or `vendor_domains()`, the default for new models."""
    version = _latest().get(canonical(domain), NEWEST_VERSIONS.get(domain))
    assert version is not None, f"{domain!r} is not a domain of ONNX or of a vendor; see domains()"
    return version


def newest(domain: str) -> int:
    """The newest known opset version of a domain: the one under development if there is one, otherwise `latest`.

    Operators under development may change until a release publishes them; models that import them are read, run and
    converted.
    """
    return _under_development().get(canonical(domain)) or latest(domain)


@cache
def releases() -> tuple[Release, ...]:
    """Every release, from old to new."""
    return tuple(
        Release(
            record["release"],
            record["ir_version"],
            {canonical(domain): version for domain, version in record["opsets"].items()},
        )
        for record in _file()["releases"]
    )


def first_ir_version(domain: str, version: int) -> int:
    """The IR version of the first release with this version of a domain; 1 for an unknown domain or version.

    For a version under development, it is the IR version of the newest release.
    """
    if is_standard(domain) and latest(domain) < version <= newest(domain):
        return releases()[-1].ir_version
    return min((r.ir_version for r in releases() if r.opsets.get(domain, 0) >= version), default=1)
