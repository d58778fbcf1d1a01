"""The check driver: reads a document, runs the rules and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from sardonyx._src.arguments import require_flag, shown, texts_of
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.sources import DocumentKind, Source, read
from sardonyx._src.check.engine.api import Diagnostic, Report, Rule, RuleGroup, Severity
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.findings import LocatedFinding
from sardonyx._src.check.engine.location import location
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.engine.suppression import drop_suppressed
from sardonyx._src.check.engine.walk import MAX_FINDINGS, Walk, group_by_class
from sardonyx._src.check.type_rules.runner import ModelObserver, find_type_violations
from sardonyx._src.errors import (
    DecodeError,
    InputError,
    JsonError,
    LimitError,
    SardonyxError,
    TextError,
)
from sardonyx._src.io.external import Policy
from sardonyx._src.io.external.opening import policy_of
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import PathSource, check_reading
from sardonyx._src.io.loading.operator_set_path import SetKey, find_operator_sets, split_sources
from sardonyx._src.io.loading.operator_sets import OperatorSetSource, load_operator_set
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits
from sardonyx._src.schema import canonical, domains
from sardonyx._src.suggestions import did_you_mean

GROUPS: tuple[RuleGroup, ...] = get_args(RuleGroup)  # words that select all rules of a group
CHECKSUM_RULE = "SX348"  # the rule that hashes files of external data


def check(
    source: Source,
    *,
    kind: DocumentKind | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    strict: bool = False,
    operator_sets: Iterable[OperatorSetSource] = (),
    policy: Policy | str = Policy.HUB,
    base: PathSource | None = None,
    limits: Limits | None = None,
    verify_checksums: bool = True,
) -> Report:
    """Returns the violations in a model, an operator-set document or stored data, in document order.

    By default those that a user of the model would act on, because the model does not run everywhere, or not as intended.

    kind: the kind of document, if neither its first bytes nor the file name determine it.
    select, ignore: rule codes, code prefixes ("SX2"), rule names, or groups of rules: "default"; "style" for habits, such as
        unused initializers and missing domains; and "strict" for requirements that no reader relies on, such as that names
        are identifiers.  A selection replaces the default one.
    strict: also report the group "strict".
    operator_sets: documents that declare operators of other domains, and folders to search for them, as for `load`.
    policy, base: as for `load`.
    verify_checksums: whether files of external data are hashed where the model states their checksums (SX348).

    A document that does not decode yields one diagnostic.  Raises OSError for files that cannot be read, InputError
    for words in `select` and `ignore` that match no rule, InvalidModel for a record with a value that its field
    cannot hold, and TypeError for a source or an argument of another type.
    """
    require_flag("strict", strict)
    words = texts_of("select", select)
    selected = select_codes(words, texts_of("ignore", ignore), strict=strict)
    verify = check_reading(base, limits, verify_checksums)
    options = DocumentOptions(policy_of(policy), base, limits, verify, pedantic=strict or bool(words))
    with pause_gc():
        return check_document(source, kind, selected, operator_sets, options)


class DocumentOptions(NamedTuple):
    """The options of `check` about reading a document."""

    policy: Policy
    base: PathSource | None
    limits: Limits | None
    verify_checksums: bool
    pedantic: bool  # whether findings of the group "strict" of other rules are reported
    observe: ModelObserver | None = None  # receives the model whose types the type rules have inferred


def check_document(
    source: Source,
    kind: DocumentKind | None,
    selected: frozenset[str],
    operator_sets: Iterable[OperatorSetSource],
    options: DocumentOptions,
) -> Report:
    """The report of the selected rules; a separate function, so that records are freed before the collector resumes."""
    try:
        record, path = read(source, kind, options.limits)
    except (DecodeError, TextError, JsonError, LimitError) as error:
        return Report((diagnose_decoding(error),))
    return check_record(record, path, selected, operator_sets, options)


def check_record(
    record: Record,
    path: Path | None,
    selected: frozenset[str],
    operator_sets: Iterable[OperatorSetSource],
    options: DocumentOptions,
) -> Report:
    """The report of a record whose values fit their fields; path: its file, if it has one."""
    base = path if options.base is None else Path(options.base) / "model"
    document = Document(record, base, options.policy, declared_operators(record, operator_sets))
    enabled = [rule for rule in rules().values() if rule.code in selected or rule.group == "default"]
    if not options.verify_checksums:
        enabled = [rule for rule in enabled if rule.code != CHECKSUM_RULE]
    walk = Walk(document, group_by_class(enabled, document.ir_version))
    findings = walk.run()
    of_types = [] if walk.is_full else find_type_violations(document, selected, findings, options.observe)
    if of_types:
        findings = drop_suppressed([*findings, *of_types])
    reported = [
        diagnostic(located)
        for located in findings
        if located.rule.code in selected and (options.pedantic or located.finding.group != "strict")
    ]
    if walk.is_full:
        reported.append(diagnose_truncation("error", "violations"))
    elif walk.notes > MAX_FINDINGS:
        reported.append(diagnose_truncation("info", "notes"))
    return Report(tuple(reported))


def declared_operators(
    record: Record, operator_sets: Iterable[OperatorSetSource]
) -> frozenset[tuple[str, str]]:
    """Domain and name of the operators and functions in operator-set documents.

    Folders, and those of the environment, are searched for the sets that a model or one of its functions imports.
    """
    documents, folders = split_sources(operator_sets)
    sets = [load_operator_set(source) for source in documents]
    requested = imported_sets(record) if folders else set()
    if requested:
        sets += find_operator_sets(requested, folders).values()
    result: set[tuple[str, str]] = set()
    for operator_set in sets:
        result |= {(operator_set.domain, o.op_type) for o in operator_set.operators}
        result |= {(f.domain, f.name) for f in operator_set.functions}
    return frozenset(result)


def imported_sets(record: Record) -> set[SetKey]:
    """Domain and version of the imports of a model and its functions that are not ONNX's own."""
    if not isinstance(record, m.ModelProto):
        return set()
    imports = (record.opset_import, *(function.opset_import for function in record.functions))
    return {
        (o.domain, o.version) for opsets in imports for o in opsets if canonical(o.domain) not in domains()
    }


def diagnostic(located: LocatedFinding) -> Diagnostic:
    about, finding = page(located.rule.code), located.finding
    severity = finding.severity or located.rule.severity
    where = location(located.record_path, finding.path)
    return Diagnostic(about.code, about.name, severity, where, finding.message, finding.help, about.clause)


DIAGNOSED_ERRORS: tuple[tuple[type[SardonyxError], str, str], ...] = (
    (
        DecodeError,
        "SX001",
        "export or copy the file again: its bytes are damaged, or it is not such a document",
    ),
    (TextError, "SX006", "correct the text at this location"),
    (JsonError, "SX007", "correct the JSON at this location"),
    (LimitError, "SX008", "raise the limit if you trust the file"),
)


def diagnose_decoding(error: DecodeError | TextError | JsonError | LimitError) -> Diagnostic:
    """The single diagnostic of a document that does not decode."""
    code, cure = next((code, cure) for kind, code, cure in DIAGNOSED_ERRORS if isinstance(error, kind))
    about = page(code)
    if isinstance(error, DecodeError):
        where = f"byte {error.offset}" + (f" ({error.path})" if error.path else "")
    elif isinstance(error, TextError):
        where = f"line {error.line}, column {error.column}"
    else:
        where = error.path if isinstance(error, JsonError) else ""
    return Diagnostic(about.code, about.name, about.severity, where, error.why, cure, about.clause)


def diagnose_truncation(severity: Severity, what: str) -> Diagnostic:
    """The last diagnostic of a document with more violations or notes than are reported."""
    about = page("SX008")
    message = f"there are more than {MAX_FINDINGS:,} {what}; the rest is not reported"
    return Diagnostic(
        about.code, about.name, severity, "", message, "fix these, then check again", about.clause
    )


def select_codes(select: Iterable[str], ignore: Iterable[str], *, strict: bool = False) -> frozenset[str]:
    """The codes of the rules to report."""
    every = rules()
    included, excluded = match_rules(select, every.values()), match_rules(ignore, every.values())
    groups = ("default", "strict") if strict else ("default",)
    default = {code for code, rule in every.items() if rule.group in groups}
    return frozenset((included or default) - excluded)


def match_rules(words: Iterable[str], every: Iterable[Rule]) -> set[str]:
    """The codes of the rules that match codes, code prefixes or names."""
    known: Sequence[Rule] = list(every)
    result: set[str] = set()
    for word in words:
        codes = {r.code for r in known if matches(word, r)}
        if not codes:
            names = [*GROUPS, *(r.code for r in known), *(page(r.code).name for r in known)]
            what = f"{shown(word)} must be a rule's code, a code prefix, a rule's name or a group"
            what += did_you_mean(word, names)
            raise InputError(what, name="select")
        result |= codes
    return result


def matches(word: str, rule: Rule) -> bool:
    """Whether a word selects a rule: its code, a prefix of it, its name or its group."""
    return word in (rule.group, page(rule.code).name) or rule.code.startswith(word.upper())
