"""Catalogue of operator signatures: lookup by opset version or exact version, and lists of operators."""

from __future__ import annotations

import os
from functools import cache

from sardonyx._src.schema.records import (
    DEVELOPMENT_DIR,
    SCHEMA_DIR,
    read_operator,
    read_vendor_operator,
    read_withdrawn,
)
from sardonyx._src.schema.releases import canonical, is_standard, newest
from sardonyx._src.schema.signature import OpSchema
from sardonyx._src.schema.vendors import is_vendor_operator, vendor_names


def lookup(domain: str, op_type: str, version: int) -> OpSchema | None:
    """The version of an operator in opset `version` of `domain`: the newest that is not newer than the opset.

    None if the domain or operator is unknown, the operator was introduced after `version`, or `version` is not a known
    opset version.  Deprecated versions are included.  Withdrawn experiments are included even in opsets after the last
    one that had them (`last_version`), since their meaning there is clear.
    """
    domain = canonical(domain)
    if not _history(domain, op_type) or not 1 <= version <= newest(domain):
        return None
    return _newest_until(domain, op_type, version)


def exact(domain: str, op_type: str, since_version: int) -> OpSchema | None:
    """The version of an operator that opset `since_version` introduced, withdrawn ones included, or None."""
    history = _history(canonical(domain), op_type)
    return next((schema for schema in history if schema.since_version == since_version), None)


def versions(domain: str, op_type: str) -> tuple[int, ...]:
    """The since_version of every version, from old to new, without withdrawn ones; () for an unknown operator."""
    domain = canonical(domain)
    return _versions(domain, op_type) if _history(domain, op_type) else ()


def replacement_of(schema: OpSchema) -> int | None:
    """The next version of an operator; None for the last one.

    A deprecated version with a replacement, as GroupNormalization-18, was published as stable and deprecated when the
    next version replaced it.  A deprecated version without replacement marks the end of its operator.
    """
    later = [number for number in versions(schema.domain, schema.name) if number > schema.since_version]
    return min(later, default=None)


def operators(domain: str) -> tuple[str, ...]:
    """The names of a domain's operators, sorted, without withdrawn ones and vendors' in ai.onnx; () for an unknown domain."""
    domain = canonical(domain)
    return tuple(sorted(_names(domain) or (vendor_names(domain) if domain else ())))


@cache
def withdrawn() -> tuple[OpSchema, ...]:
    """The experimental operators of releases 1.0 to 1.4 that later releases dropped or redefined.

    All are version 1 of ai.onnx.  Their signatures changed while they were published; these are the last
    ones.
    """
    return tuple(read_withdrawn())


def _history(domain: str, op_type: str) -> tuple[OpSchema, ...]:
    # Names come from models, which are untrusted: only names of files that exist become keys of caches and paths.
    if op_type in _names(domain) or (domain == "" and op_type in _withdrawn_names()):
        return _read(domain, op_type)
    if is_vendor_operator(domain, op_type) and op_type in vendor_names(domain):
        return _read_vendor(domain, op_type)
    return ()


@cache
def _newest_until(domain: str, op_type: str, version: int) -> OpSchema | None:
    result = None
    for schema in _history(domain, op_type):
        if schema.since_version > version:
            break
        result = schema
    return result


@cache
def _versions(domain: str, op_type: str) -> tuple[int, ...]:
    history = _history(domain, op_type)
    return tuple(schema.since_version for schema in history if schema.status != "withdrawn")


@cache
def _read_vendor(domain: str, op_type: str) -> tuple[OpSchema, ...]:
    return tuple(read_vendor_operator(domain, op_type))


@cache
def _read(domain: str, op_type: str) -> tuple[OpSchema, ...]:
    early = [schema for schema in withdrawn() if (schema.domain, schema.name) == (domain, op_type)]
    listed = read_operator(domain, op_type) if op_type in _names(domain) else []
    return (*early, *listed)


def _names(domain: str) -> frozenset[str]:
    return _listing(domain) if is_standard(domain) else frozenset()


@cache
def _listing(domain: str) -> frozenset[str]:
    folders = (root / (domain or "ai.onnx") for root in (SCHEMA_DIR, DEVELOPMENT_DIR))
    files = (file for folder in folders if folder.is_dir() for file in os.listdir(folder))
    return frozenset(file.removesuffix(".json") for file in files)


@cache
def _withdrawn_names() -> frozenset[str]:
    return frozenset(schema.name for schema in withdrawn())
