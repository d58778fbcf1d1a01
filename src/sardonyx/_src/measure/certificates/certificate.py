"""Certificates: what a run computed, in a form that another machine can verify, and their files."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sardonyx._src.arguments import require_choice, require_integer, require_path
from sardonyx._src.compile.llvm.host_target import compiler_version, processor_identity
from sardonyx._src.compile.program.steps.precision import PRECISIONS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CertificateError, InputError
from sardonyx._src.io.saving.whole_file import replaced_file
from sardonyx._src.ir import Model
from sardonyx._src.measure.certificates.model_digest import digest_content
from sardonyx._src.measure.certificates.value_record import ValueRecord
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.declarations.shape_policy import SHAPE_POLICIES
from sardonyx._src.runtime.identity.value_digest import combine_digests

FORMAT = "sardonyx certificate 1"
COMPUTING_ENGINES = ("native", "reference")
MAX_BYTES = 1 << 26  # of a certificate's file: a larger one is no certificate


@dataclass(frozen=True, slots=True)
class NumericOptions:
    """The options of a run that decide its numbers, and which inputs it accepts.

    engine: "native" or "reference".  precision, shapes: as for `Session`.  seed: of random operators without a seed.
    """

    engine: str
    precision: str
    seed: int
    shapes: str


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A statement about a run, which `sx.tools.verify` repeats.

    version: of Sardonyx.
    model: the SHA-256 of the model's content, external data included, wherever its files are.
    options: those that decide the numbers.
    inputs, outputs: records by name.
    machine: what computed the outputs: the class of the processor, the versions of NumPy and llvmlite.  Not verified.
    """

    version: str
    model: str
    options: NumericOptions
    inputs: Mapping[str, ValueRecord]
    outputs: Mapping[str, ValueRecord]
    machine: Mapping[str, str]

    @classmethod
    def of(
        cls,
        model: Model,
        options: NumericOptions,
        feeds: Mapping[str, RunResult],
        outputs: Mapping[str, RunResult],
    ) -> Certificate:
        """The certificate of a run that this process has done."""
        inputs = {name: ValueRecord.of(value, has_sample=False) for name, value in feeds.items()}
        results = {name: ValueRecord.of(value, has_sample=True) for name, value in outputs.items()}
        return cls(own_version(), digest_content(model), options, inputs, results, describe_machine())

    @property
    def digest(self) -> str:
        """The digest of the outputs, which `sardonyx run --digest` prints."""
        return combine_digests({name: record.digest for name, record in self.outputs.items()})

    def as_json(self) -> dict[str, object]:
        """The certificate as JSON; `sha256` is that of all other fields."""
        facts: dict[str, object] = {
            "format": FORMAT,
            "version": self.version,
            "model": self.model,
            "options": {name: getattr(self.options, name) for name in NumericOptions.__slots__},
            "inputs": {name: record.as_json() for name, record in self.inputs.items()},
            "outputs": {name: record.as_json() for name, record in self.outputs.items()},
            "digest": self.digest,
            "machine": dict(self.machine),
        }
        return {**facts, "sha256": seal(facts)}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the certificate to a JSON file, as a whole or not at all, and returns its path."""
        require_path("path", path)
        with replaced_file(path) as file:
            file.write((json.dumps(self.as_json(), indent=1) + "\n").encode())
        return Path(path)

    def __repr__(self) -> str:
        outputs = ", ".join(f"{name}: {record.type_text}" for name, record in self.outputs.items())
        return f"<Certificate {self.digest[:16]}: {outputs}>"


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """The certificate in a file; raises CertificateError for a file that is damaged or none, OSError if it cannot be read."""
    require_path("certificate", path)
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    try:
        facts = json.loads(content) if len(content) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise CertificateError(
            f"{os.fspath(path)} must be a certificate: JSON with the format {FORMAT!r}", name="certificate"
        )
    stated = facts.pop("sha256", None)
    try:
        is_intact = stated == seal(facts)
    except RecursionError:  # nested as deeply as the parser accepts, and the writer does not
        is_intact = False
    if not is_intact:
        raise CertificateError(
            f"{os.fspath(path)} is damaged: its sha256 is not that of its content", name="certificate"
        )
    try:
        return read_facts(facts)
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        what = f"{os.fspath(path)} is no valid certificate: {type(error).__name__}: {error}"
        raise CertificateError(what, name="certificate") from None


def read_facts(facts: dict[str, Any]) -> Certificate:
    """The certificate with these fields; raises KeyError, TypeError, ValueError, AttributeError or InputError if they are none."""
    options = NumericOptions(**facts["options"])
    require_choice("engine", options.engine, COMPUTING_ENGINES)
    require_choice("precision", options.precision, PRECISIONS)
    require_integer("seed", options.seed)
    require_choice("shapes", options.shapes, SHAPE_POLICIES)
    inputs, outputs = (
        {str(name): ValueRecord.from_json(record) for name, record in facts[key].items()}
        for key in ("inputs", "outputs")
    )
    machine = {str(name): str(fact) for name, fact in facts["machine"].items()}
    return Certificate(str(facts["version"]), str(facts["model"]), options, inputs, outputs, machine)


def seal(facts: Mapping[str, object]) -> str:
    """The SHA-256 of the canonical JSON of a certificate's fields: it reveals damage, not a forger."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# --- this process ----------------------------------------------------------------------------


def own_version() -> str:
    """The version of this package."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def describe_machine() -> dict[str, str]:
    """The class of this processor, and the versions of the packages that compute."""
    return {
        "class": next(iter(processor_identity()), ""),
        "llvmlite": compiler_version() or "",
        "numpy": np.__version__,
    }
