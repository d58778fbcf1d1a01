"""Checking a document: read, walked by the rules, reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sardonyx._src.check.api import Diagnostic, Report, Rule, Severity
from sardonyx._src.check.asking import type_faults
from sardonyx._src.check.context import Document
from sardonyx._src.check.engine import MOST_FAULTS, Located, Walk, by_class, kept
from sardonyx._src.check.location import location
from sardonyx._src.check.names import did_you_mean
from sardonyx._src.check.pages import page, rules
from sardonyx._src.check.sources import DocumentKind, Source, read
from sardonyx._src.errors import DecodeError, JsonError, LimitError, SardonyxError, TextError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.load import Path_, without_collection
from sardonyx._src.io.operator_sets import SetSource, load_operator_set
from sardonyx._src.proto.wire import Limits

STYLE = "style"  # selects the rules that are asked by request


def check(
    source: Source,
    *,
    kind: DocumentKind | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    operator_sets: Iterable[SetSource] = (),
    policy: Policy | str = Policy.HUB,
    base: Path_ | None = None,
    limits: Limits | None = None,
) -> Report:
    """Every fault of a model, an operator-set document or stored data, in the order of the document.

    `kind` says what `source` holds where neither a magic nor the name tells.  `select` and `ignore` hold codes,
    beginnings of codes ("SX2"), names of rules, or "style", which stands for the rules about habits: these are asked
    only if that word, their codes or their names are selected.  `policy` and `base` are those of `load`; `operator_sets` are
    documents that declare operators of other domains.

    What does not decode is one diagnostic.  Raises OSError for files that cannot be read, ValueError for words in
    `select` and `ignore` that mean no rule, InvalidModel for a record with a value that its field cannot hold.
    """
    chosen = selected(select, ignore)
    try:
        with without_collection():
            record, path = read(source, kind, limits)
    except (DecodeError, TextError, JsonError, LimitError) as error:
        return Report((undecodable(error),))
    folder = path if base is None else Path(base) / "model"
    document = Document(record, folder, Policy(policy), declared(operator_sets))
    with without_collection():
        asked = [one for one in rules().values() if one.code in chosen or not one.by_request]
        walk = Walk(document, by_class(asked, document.ir_version))
        found = walk.run()
        if not walk.is_full and (typed := type_faults(document, chosen, found)):
            found = kept([*found, *typed])
    told = [diagnostic(one) for one in found if one.rule.code in chosen]
    if walk.is_full:
        told.append(unfinished("error", "faults"))
    elif walk.notes > MOST_FAULTS:
        told.append(unfinished("info", "notes"))
    return Report(tuple(told))


def declared(operator_sets: Iterable[SetSource]) -> frozenset[tuple[str, str]]:
    """Domain and name of what operator-set documents declare."""
    result: set[tuple[str, str]] = set()
    for source in operator_sets:
        one = load_operator_set(source)
        result |= {(one.domain, o.op_type) for o in one.operators}
        result |= {(f.domain, f.name) for f in one.functions}
    return frozenset(result)


def diagnostic(one: Located) -> Diagnostic:
    about, finding = page(one.rule.code), one.finding
    severity = finding.severity or one.rule.severity
    place = location(one.trail, finding.at)
    return Diagnostic(about.code, about.name, severity, place, finding.says, finding.help, about.clause)


UNDECODABLE: tuple[tuple[type[SardonyxError], str, str], ...] = (
    (
        DecodeError,
        "SX001",
        "export or copy the file again: its bytes are damaged, or not those of such a document",
    ),
    (TextError, "SX006", "correct the text at this place"),
    (JsonError, "SX007", "correct the JSON at this place"),
    (LimitError, "SX008", "raise the limit if you trust the file"),
)


def undecodable(error: DecodeError | TextError | JsonError | LimitError) -> Diagnostic:
    """The one diagnostic of a document without a record."""
    code, cure = next((code, cure) for kind, code, cure in UNDECODABLE if isinstance(error, kind))
    about = page(code)
    if isinstance(error, DecodeError):
        place = f"byte {error.offset}" + (f" ({error.path})" if error.path else "")
    elif isinstance(error, TextError):
        place = f"line {error.line}, column {error.column}"
    else:
        place = error.path if isinstance(error, JsonError) else ""
    return Diagnostic(about.code, about.name, about.severity, place, error.why, cure, about.clause)


def unfinished(severity: Severity, what: str) -> Diagnostic:
    """What is said behind the faults of a document that has too many of them."""
    about = page("SX008")
    says = f"there are more than {MOST_FAULTS:,} {what}, and the rest is not told"
    return Diagnostic(
        about.code, about.name, severity, "", says, "mend these, then check again", about.clause
    )


def selected(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """The codes of the rules that report."""
    every = rules()
    wanted, unwanted = meant(select, every.values()), meant(ignore, every.values())
    usual = {code for code, one in every.items() if not one.by_request}
    return frozenset((wanted or usual) - unwanted)


def meant(words: Iterable[str], every: Iterable[Rule]) -> set[str]:
    """The codes that codes, their beginnings, or names mean."""
    known: Sequence[Rule] = list(every)
    result: set[str] = set()
    for word in words:
        found = {r.code for r in known if means(word, r)}
        if not found:
            near = did_you_mean(word, [*(r.code for r in known), *(page(r.code).name for r in known)])
            what = f"{word!r} is neither a rule's code, the beginning of codes nor a rule's name"
            raise ValueError(what + near)
        result |= found
    return result


def means(word: str, one: Rule) -> bool:
    """Whether a word selects a rule; the beginning of codes selects no rule that is asked by request."""
    if word.upper() == one.code or word == page(one.code).name:
        return True
    return word == STYLE if one.by_request else one.code.startswith(word.upper())
