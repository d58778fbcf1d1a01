"""Mending a document: faults are looked for and mended in turn, until nothing more can be mended without a guess."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import cast

from sardonyx._src.check.asking import type_faults
from sardonyx._src.check.checking import declared, selected
from sardonyx._src.check.context import Document
from sardonyx._src.check.engine import Located, Walk, by_class
from sardonyx._src.check.location import location
from sardonyx._src.check.mends import Fault, Fix, Mend, Round, fixes, mendable
from sardonyx._src.check.pages import page, rules
from sardonyx._src.check.sources import DocumentKind, Source, read
from sardonyx._src.check.uses import SUBJECTS
from sardonyx._src.io.external import Policy
from sardonyx._src.io.load import Path_, without_collection
from sardonyx._src.io.operator_sets import SetSource
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits

ROUNDS = 200  # each mends all faults that one fix is for; what is left after so many is reported


def fix(
    source: Source,
    *,
    kind: DocumentKind | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    operator_sets: Iterable[SetSource] = (),
    policy: Policy | str = Policy.HUB,
    base: Path_ | None = None,
    limits: Limits | None = None,
) -> tuple[Record, list[Mend]]:
    """The record of a document without the faults that can be mended, and what was done, in that order.

    What the document computes stays the same, and so do the names, types and order of what goes in and out, and the
    names of weights.  The arguments are those of `check`; faults that are not selected are left alone.  The source is
    not changed: the record is new, with the data of the old one.  Fixing it again changes nothing.

    Raises DecodeError, TextError, JsonError or LimitError for what does not decode, OSError for files that cannot be
    read, ValueError for words in `select` and `ignore` that mean no rule.
    """
    chosen = selected(select, ignore)
    with without_collection():
        record, path = read(source, kind, limits)
        record = copied(record)
        folder = path if base is None else Path(base) / "model"
        known = declared(operator_sets)
        mends: list[Mend] = []
        for _ in range(ROUNDS):
            found = one_round(Document(record, folder, Policy(policy), known), chosen)
            if not found:
                break
            mends += found
    return record, mends


def one_round(document: Document, chosen: Collection[str]) -> list[Mend]:
    """What one fix did, of those for faults of the structure or else of types."""
    walk = structural(document, mendable())
    faults = walk.run()
    for one in fixes():
        if walk.is_full:  # of faults that leave no room for those that this fix is for
            faults = structural(document, one.codes).run()
        if mends := mended(document, one, faults, chosen):
            return mends
    faults = typed(document, chosen)
    return next(filter(None, (mended(document, one, faults, chosen) for one in fixes())), [])


def structural(document: Document, codes: Iterable[str]) -> Walk:
    """A walk with the rules of these codes that need no types, and those that keep a fault from being one of them."""
    every = rules()
    wanted = [code for code in codes if code not in SUBJECTS]
    around = {code for code, one in every.items() if one.hides}.union(
        *(every[code].unless for code in wanted)
    )
    asked = [
        one for code, one in every.items() if code in wanted or (code in around and code not in SUBJECTS)
    ]
    return Walk(document, by_class(asked, document.ir_version))


def typed(document: Document, chosen: Collection[str]) -> list[Located]:
    """The faults of the rules with a fix that need types, where the structure can be relied on."""
    wanted = frozenset(chosen) & mendable().keys()
    if wanted.isdisjoint(SUBJECTS):
        return []
    found = Walk(document, by_class(rules().values(), document.ir_version)).run()
    return type_faults(document, wanted, found)


def mended(document: Document, one: Fix, faults: Iterable[Located], chosen: Collection[str]) -> list[Mend]:
    """What a fix did about its faults; the last fault goes first, so that the places of the others stay true."""
    shared = Round(document)
    handed = [
        Fault(f.rule.code, f.trail, f.finding.at, location(f.trail, f.finding.at), shared)
        for f in faults
        if f.rule.code in one.codes and f.rule.code in chosen
    ]
    done = [(fault, one.mend(fault)) for fault in reversed(handed)]
    return [Mend(f.code, page(f.code).name, f.location, did) for f, did in reversed(done) if did]


def copied(record: Record) -> Record:
    """The record and all inside it anew, with the same payloads."""
    result = type(record)()
    stack = [(record, result)]
    while stack:
        old, new = stack.pop()
        for name, value in old.__dict__.items():
            if isinstance(value, Record):
                inner = new.__dict__[name] = type(value)()
                stack.append((value, inner))
            elif isinstance(value, list) and value and isinstance(value[0], Record):
                pairs = [(one, type(one)()) for one in cast("list[Record]", value)]
                new.__dict__[name] = [one for _, one in pairs]
                stack += pairs
            else:
                new.__dict__[name] = list(value) if isinstance(value, list) else value
    return result
