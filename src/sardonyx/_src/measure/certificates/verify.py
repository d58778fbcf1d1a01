"""`verify`: a certified run repeated, and its outputs compared with the certificate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from sardonyx._src.arguments import require_flag
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CertificateError
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Array, Model
from sardonyx._src.measure.certificates.certificate import (
    Certificate,
    describe_machine,
    load_certificate,
    own_version,
)
from sardonyx._src.measure.certificates.certify import run_values
from sardonyx._src.measure.certificates.model_digest import digest_content
from sardonyx._src.measure.certificates.value_record import ValueRecord
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.ops.api import RunLimits, RunResult, RuntimeValue
from sardonyx._src.runtime.identity.value_digest import digest_value
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.verification.values import compare_value


@dataclass(frozen=True, slots=True)
class OutputVerification:
    """An output of a repeated run beside the certificate.

    expected, actual: the digests of the certificate and of this run.
    why: how the output differs; "" if all bits are equal.
    """

    name: str
    expected: str
    actual: str
    why: str

    @property
    def agrees(self) -> bool:
        return not self.why

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "expected": self.expected,
            "actual": self.actual,
            "agrees": self.agrees,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, repr=False)
class RunVerification:
    """The result of `verify`; true if all outputs have the bits of the certificate.

    certified, current: what computed the outputs for the certificate, and what repeated the run.
    """

    outputs: tuple[OutputVerification, ...]
    certified: Mapping[str, str]
    current: Mapping[str, str]

    @property
    def ok(self) -> bool:
        return all(output.agrees for output in self.outputs)

    def __bool__(self) -> bool:
        return self.ok

    def as_json(self) -> dict[str, object]:
        """The verification as strings, lists and dicts."""
        return {
            "ok": self.ok,
            "outputs": [output.as_json() for output in self.outputs],
            "certified": dict(self.certified),
            "current": dict(self.current),
        }

    def lines(self) -> list[str]:
        """A line for each output, and the verdict; names are in them as they are, line breaks included."""
        lines = [f"{output.name}: {output.why or 'equal'}" for output in self.outputs]
        machines = (
            facts.get("class") or "a processor of no class" for facts in (self.certified, self.current)
        )
        agreeing = sum(output.agrees for output in self.outputs)
        verdict = f"{agreeing} of {len(self.outputs)} outputs have the certified bits"
        return [*lines, f"{verdict}; certified on {next(machines)}, verified on {next(machines)}"]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<RunVerification: {self.lines()[-1]}>"


def verify(
    certificate: Certificate | str | os.PathLike[str],
    model: ModelSource,
    feeds: Mapping[str, object] | None = None,
    *,
    any_version: bool = False,
    threads: int | None = None,
    limits: RunLimits | None = None,
) -> RunVerification:
    """Repeats a certified run, and compares the bits of its outputs with the certificate.

    certificate: the result of `certify`, or the file to which it was saved.
    feeds: the inputs of the certified run.
    any_version: verify also the certificates of other versions of Sardonyx, whose results may differ by rounding.
    threads, limits: as for `Session`; neither changes results.

    Raises CertificateError, whose `name` is the argument that does not fit, for a damaged certificate, and for one of another
    model, of other inputs, or of another version; and what sessions raise.
    """
    require_flag("any_version", any_version)
    stated = certificate if isinstance(certificate, Certificate) else load_certificate(certificate)
    refuse_version(stated, any_version=any_version)
    resolved = resolve_model(model)
    if digest_content(resolved) != stated.model:
        raise CertificateError("the model must be that of the certificate; got another content", name="model")
    refuse_outputs(stated, resolved)
    refuse_inputs(stated, run_values(resolved, {} if feeds is None else feeds))
    options: Any = {name: getattr(stated.options, name) for name in ("engine", "precision", "seed", "shapes")}
    with Session(resolved, threads=threads, limits=limits, **options) as session:
        results = session.run({} if feeds is None else feeds, [*stated.outputs])
    outputs = tuple(verify_output(name, results[name], record) for name, record in stated.outputs.items())
    return RunVerification(outputs, stated.machine, describe_machine())


def refuse_version(certificate: Certificate, *, any_version: bool) -> None:
    """Raises CertificateError for a certificate of another version."""
    if certificate.version != own_version() and not any_version:
        what = f"the certificate must be of Sardonyx {own_version()}; got {certificate.version}, whose results may differ"
        raise CertificateError(
            f"{what}; use that version, or any_version=True (--any-version)", name="any_version"
        )


def refuse_outputs(certificate: Certificate, model: Model) -> None:
    """Raises CertificateError for a certificate with none of the model's outputs, or with others."""
    names = {value.name for value in model.graph.outputs}
    if not certificate.outputs and names:
        raise CertificateError("the certificate must have an output; got none", name="certificate")
    for name in certificate.outputs:
        if name not in names:
            what = f"the outputs of the certificate must be those of the model; got {name!r}"
            raise CertificateError(what, name="certificate")


def refuse_inputs(certificate: Certificate, values: Mapping[str, RuntimeValue]) -> None:
    """Raises CertificateError for the first input that is not the certified one."""
    for name in [*certificate.inputs, *values]:
        record = certificate.inputs.get(name)
        if record is None or name not in values:
            got = "no value" if name not in values else "a value, which the certified run did not have"
            raise CertificateError(
                f"the inputs must be those of the certificate; got {got} for {name!r}", name="feeds"
            )
        if digest_value(values[name]) != record.digest:
            actual = ValueRecord.of(values[name], has_sample=False).type_text
            what = f"input {name!r} must have the certified bits ({record.type_text}); got others ({actual})"
            raise CertificateError(what, name="feeds")


def verify_output(name: str, value: RunResult, certified: ValueRecord) -> OutputVerification:
    """Compares an output with its record."""
    actual = ValueRecord.of(value, has_sample=True)
    why = "" if actual.digest == certified.digest else describe_difference(actual, certified)
    return OutputVerification(name, certified.digest, actual.digest, why)


def describe_difference(actual: ValueRecord, certified: ValueRecord) -> str:
    """How two values with different digests differ, as far as their records show."""
    if actual.type_text != certified.type_text:
        return f"expected {certified.type_text}; got {actual.type_text}"
    if actual.sample is None or certified.sample is None or not certified.size:
        return "differs"
    if actual.size != certified.size:
        return f"expected {pluralize(certified.size, 'number')}; got {actual.size}"
    return f"differs: {compare_samples(actual.sample, certified.sample, actual.size)}"


def compare_samples(actual: Array, certified: Array, size: int) -> str:
    """The differences of sampled elements.  size: the number of elements of the output."""
    unequal = int(np.count_nonzero(differing_bits(actual, certified)))
    which = f"{unequal} of {actual.size}{' sampled' * (size > actual.size)} elements"
    if not unequal:
        return which
    numbers = np.complex128 if actual.dtype.kind == "c" else np.float64
    comparison = compare_value("", "", actual.astype(numbers), certified.astype(numbers), 0.0)
    nonfinite = "; NaNs or infinities differ" if "infinities" in comparison.why else ""
    return f"{which}, by at most {comparison.max_abs:.3g}, relative {comparison.error:.3g}{nonfinite}"


def differing_bits(a: Array, b: Array) -> Array:
    """Which elements have different bits; NaNs are equal."""
    with np.errstate(invalid="ignore"):
        nans = (a != a) & (b != b)
    shape = (a.size, a.itemsize)
    bits = (np.ascontiguousarray(x).view(np.uint8).reshape(shape) for x in (a, b))
    differs: Array = np.any(np.not_equal(*bits), axis=1) & ~nans
    return differs
