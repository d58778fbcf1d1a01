"""Byte mutants: damaged files of every kind, through `load`, `check` and, if they load, `infer`."""

from __future__ import annotations

import random
from collections.abc import Callable

import sardonyx as sx
from check.damage import assert_fields_checked, seeds
from fuzz.seeds import Subject
from fuzz.verdicts import DIFFERENCE, UNTYPED, Verdict, describe, fault, untyped
from fuzz.workers import Judge
from mutations import mutated_bytes
from sardonyx._src.check import check
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Model

TEXT_SHARE = 0.1  # of the mutants, in ONNX text, and as many in JSON


def byte_judge(subjects: list[Subject]) -> Judge:
    """Judges case i: the damaged bytes, text or JSON of a model, or the bytes of another document."""
    documents = [(kind, data) for kind, data in seeds() if kind != "model"]

    def judge(number: int) -> Verdict:
        rng = random.Random(f"bytes {number}")
        draw = rng.random()
        if draw < 0.05:
            kind, data = rng.choice(documents)
            return judge_check(mutated_bytes(data, rng), kind)
        data = rng.choice(subjects).model
        if draw < 0.05 + 2 * TEXT_SHARE:
            return judge_text(data, rng)
        return judge_model(mutated_bytes(data, rng))

    return judge


def judge_model(data: bytes) -> Verdict:
    """The verdict on the bytes of a model."""
    verdict = judge_load(lambda: sx.load(data))
    findings = judge_check(data)
    return findings if findings.fault else verdict


def judge_text(data: bytes, rng: random.Random) -> Verdict:
    """The verdict on the damaged text of a valid model."""
    is_json = rng.random() < 0.5
    text = sx.to_json(sx.load(data)) if is_json else sx.to_text(sx.load(data))
    damaged = mutated_bytes(text.encode(), rng).decode(errors="surrogateescape")
    return judge_load(lambda: sx.from_json(damaged) if is_json else sx.from_text(damaged))


def judge_load(load: Callable[[], Model]) -> Verdict:
    """The verdict on loading a model and, if it loads, on inferring its types."""
    try:
        model = load()
    except SardonyxError as error:
        return Verdict(f"refused: {type(error).__name__}")
    except Exception as error:  # noqa: BLE001  # untyped ones are what this looks for
        return untyped(error, "load")
    try:
        sx.infer(model)
    except SardonyxError:
        return Verdict("loads, types contradict")
    except Exception as error:  # noqa: BLE001
        return untyped(error, "infer")
    return Verdict("loads")


def judge_check(data: bytes, kind: str | None = None) -> Verdict:
    """The verdict on checking the bytes of a document: every diagnostic must be complete."""
    try:
        report = check(data, kind=kind)  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001
        return untyped(error, "check")
    for diagnostic in report.diagnostics:
        if not (diagnostic.message and diagnostic.help and diagnostic.clause):
            return fault(UNTYPED, f"incomplete diagnostic {diagnostic.rule}", diagnostic.message)
    return Verdict("checked")


def document_judge() -> Judge:
    """Judges case i: the damaged fields of a document, whose record, bytes and uncached record have equal findings."""
    documents = list(seeds())

    def judge(number: int) -> Verdict:
        rng = random.Random(f"documents {number}")
        try:
            assert_fields_checked(rng.choice(documents), rng)
        except AssertionError as error:
            return fault(DIFFERENCE, f"findings: {str(error).splitlines()[0][:60]}", describe(error))
        except Exception as error:  # noqa: BLE001
            return untyped(error, "check")
        return Verdict("equal findings")

    return judge
