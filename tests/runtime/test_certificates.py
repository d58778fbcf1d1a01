"""Certificates of runs: what they state, what verifies them, and what they refuse."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.measure.certificates import verify as verify_module
from sardonyx._src.measure.certificates.certificate import FORMAT, load_certificate, seal
from sardonyx._src.measure.certificates.model_digest import digest_content
from sardonyx._src.measure.certificates.value_record import ValueRecord, sample_positions

TEXT = """g (float[N,2] x) => (float[N,2] y, float[N,2] z) <float[2] w = {1, 2}> {
  a = Add(x, w)  y = Relu(a)  z = Tanh(a) }"""
F = np.float32
FEEDS = {"x": np.array([[1, 2], [3, 4]], np.float32)}


def certificate() -> sx.tools.Certificate:
    return sx.tools.certify(parse_model(TEXT), FEEDS)


def test_a_certificate_states_the_digests_of_the_run() -> None:
    outputs = sx.Session(parse_model(TEXT)).run(FEEDS)
    certified = certificate()
    assert certified.digest == sx.tools.digest(outputs)
    assert {name: record.type_text for name, record in certified.outputs.items()} == {
        "y": "float[2,2]",
        "z": "float[2,2]",
    }
    assert certified.options.engine == "native" and certified.version == sx.__version__
    assert certified.machine["numpy"] == np.__version__
    np.testing.assert_array_equal(certified.outputs["y"].sample, [2, 4, 4, 6])


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_saved_certificate_is_verified(engine: str, threads: int, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    sx.tools.certify(parse_model(TEXT), FEEDS, engine=engine, outputs=["z"]).save(path)  # type: ignore[arg-type]
    model = tmp_path / "elsewhere.onnx"
    sx.save(parse_model(TEXT), model)
    result = sx.tools.verify(path, model, {"x": [[1.0, 2.0], [3.0, 4.0]]}, threads=threads)
    assert result and [output.name for output in result.outputs] == ["z"]
    assert "1 of 1 outputs have the certified bits" in str(result)


def test_certified_draws_are_repeated() -> None:
    model = parse_model("g () => (float[4] y) { y = RandomNormal <shape = [4]> () }")
    assert sx.tools.verify(sx.tools.certify(model), model)
    other = sx.tools.certify(model, seed=1)
    assert other.digest != sx.tools.certify(model).digest and sx.tools.verify(other, model)


def test_values_of_all_kinds_are_verified() -> None:
    model = parse_model(
        """g (seq(float[2]) s, optional(float[2]) o, string[2] t) => (seq(float[2]) a, optional(float[2]) b, string[2] c) {
        a = Identity(s)  b = Identity(o)  c = Identity(t) }""",
        opset=21,
    )
    feeds = {"s": [np.array([1, 2], np.float32)], "o": None, "t": np.array(["a", "é"], object)}
    certified = sx.tools.certify(model, feeds)
    assert [record.kind for record in certified.outputs.values()] == ["sequence", "none", "tensor"]
    assert sx.tools.verify(certified, model, feeds)


# --- the model's digest ----------------------------------------------------------------------

WEIGHTS = "g (float[2,400] x) => (float[2,400] y) <float[400] w = {%s}, float[1] v = {1}> { a = Add(x, w) y = Add(a, v) }"


def weights(last: int = 0) -> sx.Model:
    return parse_model(WEIGHTS % ",".join(map(str, [*range(399), last])))


def test_a_model_has_one_digest_wherever_its_weights_are(tmp_path: Path) -> None:
    digest = digest_content(weights())
    sx.save(weights(), tmp_path / "a.onnx")
    sx.save(weights(), tmp_path / "b.onnx", external="b.data", threshold=1)
    (tmp_path / "c").mkdir()
    sx.save(weights(), tmp_path / "c" / "c.onnx", external="weights", threshold=1000)
    sx.save(weights(), tmp_path / "d.onnxtxt")
    for name in ("a.onnx", "b.onnx", "c/c.onnx", "d.onnxtxt"):
        assert digest_content(sx.load(tmp_path / name)) == digest, name
    assert digest_content(sx.load((tmp_path / "a.onnx").read_bytes())) == digest


def test_every_difference_of_a_model_is_another_digest() -> None:
    models = [
        weights(),
        weights(1),
        parse_model(TEXT),
        parse_model(TEXT.replace("Tanh", "Sinh")),
        parse_model(TEXT.replace("{1, 2}", "{1, 3}")),
        parse_model(TEXT.replace("z = Tanh(a)", "z = Tanh(x)")),
        parse_model(TEXT, opset=18),
    ]
    assert len({digest_content(model) for model in models}) == len(models)


# --- differences -----------------------------------------------------------------------------


def verify_with(monkeypatch: pytest.MonkeyPatch, **changed: object) -> sx.tools.RunVerification:
    """The verification of a run that returns these outputs."""
    run = sx.Session.run

    def changed_run(*arguments: object) -> dict[str, object]:
        return {**run(*arguments), **changed}  # type: ignore[arg-type]

    certified = certificate()
    monkeypatch.setattr(sx.Session, "run", changed_run)
    return sx.tools.verify(certified, parse_model(TEXT), FEEDS)


def test_the_output_that_differs_is_named_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    result = verify_with(monkeypatch, y=np.array([[2, 4], [4, 6.5]], np.float32))
    assert not result
    assert [output.agrees for output in result.outputs] == [False, True]
    assert result.outputs[0].why == "differs: 1 of 4 elements, by at most 0.5, relative 0.0833"
    assert str(result).splitlines()[1] == "z: equal"
    assert result.as_json()["ok"] is False


@pytest.mark.parametrize(
    ("y", "why"),
    [
        (np.array([2, 4], np.float32), "expected float[2,2]; got float[2]"),
        (np.array([[2, 4], [4, 6]], np.float64), "expected float[2,2]; got double[2,2]"),
        (np.array([[2, 4], [4, np.nan]], np.float32), "differs: 1 of 4 elements, by at most 0, relative 0; NaNs or infinities differ"),
        ([np.array([2], np.float32)], "expected float[2,2]; got sequence"),
    ],
    ids=["shape", "type", "nan", "kind"],
)  # fmt: skip
def test_types_and_nans_that_differ_are_named(y: object, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify_with(monkeypatch, y=y).outputs[0].why == why


def test_a_large_output_is_sampled() -> None:
    x = np.arange(100_000, dtype=np.int64).reshape(100, 1000)
    record = ValueRecord.from_json(json.loads(json.dumps(ValueRecord.of(x, has_sample=True).as_json())))
    assert record.sample is not None and record.sample.size == 256
    assert record.sample[0] == 0 and record.sample[-1] == x.size - 1
    other = x.copy()
    other[0, 1] = -1  # not in the sample
    why = verify_module.verify_output("x", other, record).why
    assert why == "differs: 0 of 256 sampled elements"
    other[-1, -1] += 2
    why = verify_module.verify_output("x", other, record).why
    assert why == "differs: 1 of 256 sampled elements, by at most 2, relative 2e-05"


@pytest.mark.parametrize(
    ("certified", "actual", "why"),
    [
        ([{1: F(0.5), 2: F(0.25)}], [{1: F(0.5), 2: F(0.75)}], "differs: 1 of 2 elements, by at most 0.5, relative 1"),
        ([np.ones(2, F)], [np.ones(1, F)], "expected 2 numbers; got 1"),
        ([np.ones(600, F)], [np.full(600, 2, F)], "differs: 256 of 256 sampled elements, by at most 1, relative 1"),
        ({"a": np.array([1 + 1j])}, {"a": np.array([2 + 1j])}, "differs: 1 of 1 elements, by at most 1, relative 1"),
        ({"a": np.array(["a"], object)}, {"a": np.array(["b"], object)}, "differs"),
        ([], None, "expected sequence; got none"),
    ],
    ids=["maps", "lengths", "large", "complex", "strings", "kinds"],
)  # fmt: skip
def test_numbers_in_sequences_and_maps_are_compared(certified: object, actual: object, why: str) -> None:
    record = ValueRecord.of(certified, has_sample=True)
    stored = ValueRecord.from_json(json.loads(json.dumps(record.as_json())))
    assert verify_module.verify_output("y", certified, stored).agrees
    assert verify_module.verify_output("y", actual, stored).why == why


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 10**12])
def test_samples_are_distinct_and_have_both_ends(size: int) -> None:
    positions = sample_positions(size)
    assert len(set(positions)) == len(positions) == min(size, 256)
    assert not size or (positions[0], positions[-1]) == (0, size - 1)


@pytest.mark.parametrize("name", ["float", "int4", "bfloat16", "bool", "complex64", "float8e5m2"])
def test_samples_of_all_widths_are_saved(name: str) -> None:
    dtype = sx.DataType.parse(name)
    x = np.arange(301).astype(np.int64) % 5
    array = (x > 2 if name == "bool" else x.astype(dtype.numpy)).reshape(7, 43)
    record = ValueRecord.from_json(json.loads(json.dumps(ValueRecord.of(array, has_sample=True).as_json())))
    np.testing.assert_array_equal(record.sample, array.reshape(-1)[sample_positions(301)])
    assert verify_module.verify_output("x", array, record).agrees
    assert verify_module.describe_difference(ValueRecord.of(array, has_sample=True), record) == (
        "differs: 0 of 256 sampled elements"
    )


# --- what is refused -------------------------------------------------------------------------


def refusal(name: str, match: str) -> pytest.RaisesExc[sx.CertificateError]:
    return pytest.raises(sx.CertificateError, match=match, check=lambda error: error.name == name)


def test_another_model_is_refused() -> None:
    with refusal("model", "must be that of the certificate"):
        sx.tools.verify(certificate(), parse_model(TEXT.replace("Tanh", "Sinh")), FEEDS)


@pytest.mark.parametrize(
    ("x", "match"),
    [
        (
            np.array([[1, 2], [3, 5]], np.float32),
            r"'x' must have the certified bits \(float\[2,2\]\); got others",
        ),
        (np.array([[1, 2]], np.float32), r"got others \(float\[1,2\]\)"),
    ],
)
def test_other_inputs_are_refused(x: object, match: str) -> None:
    with refusal("feeds", match):
        sx.tools.verify(certificate(), parse_model(TEXT), {"x": x})


def test_inputs_that_one_side_lacks_are_refused() -> None:
    model = parse_model("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    x, w = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    with refusal("feeds", "got a value, which the certified run did not have for 'w'"):
        sx.tools.verify(sx.tools.certify(model, {"x": x}), model, {"x": x, "w": w})
    with refusal("feeds", "got no value for 'w'"):
        sx.tools.verify(sx.tools.certify(model, {"x": x, "w": w}), model, {"x": x})


def test_outputs_that_the_model_lacks_and_no_outputs_are_refused() -> None:
    record = next(iter(certificate().outputs.values()))
    for outputs, why in (
        ({}, "must have an output; got none"),
        ({"q": record}, "must be those of the model; got 'q'"),
    ):
        with refusal("certificate", why):
            sx.tools.verify(replace(certificate(), outputs=outputs), parse_model(TEXT), FEEDS)


def test_another_version_is_refused_unless_asked_for() -> None:
    other = replace(certificate(), version="0.0.1")
    with refusal("any_version", r"must be of Sardonyx .*; got 0\.0\.1"):
        sx.tools.verify(other, parse_model(TEXT), FEEDS)
    assert sx.tools.verify(other, parse_model(TEXT), FEEDS, any_version=True)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": "other"}']
)
def test_a_file_that_is_no_certificate_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(content)
    with refusal("certificate", "must be a certificate"):
        load_certificate(tmp_path / "c.json")


def test_every_edited_field_is_damage(tmp_path: Path) -> None:
    path = certificate().save(tmp_path / "c.json")
    facts = json.loads(path.read_text())
    for key in facts:
        if key != "format":
            path.write_text(json.dumps({**facts, key: "other"}))
            with refusal("certificate", "damaged"):
                load_certificate(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("options", {}), ("outputs", {"y": {}}), ("inputs", []), ("machine", None), ("outputs", {"y": {"type": "no"}})],
)  # fmt: skip
def test_a_sealed_file_without_fields_is_refused(key: str, value: object, tmp_path: Path) -> None:
    facts = certificate().as_json()
    facts = {name: facts[name] for name in facts if name != "sha256"} | {key: value}
    (tmp_path / "c.json").write_text(json.dumps({**facts, "sha256": seal(facts)}))
    with refusal("certificate", "no valid certificate"):
        load_certificate(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("options", "engine"), "auto"),
        (("options", "engine"), 5),
        (("options", "precision"), "float16"),
        (("options", "seed"), 1.5),
        (("options", "seed"), None),
        (("options", "shapes"), []),
        (("outputs", "y", "size"), float("inf")),
        (("outputs", "y", "size"), -1),
        (("outputs", "y", "shape"), [float("inf")]),
        (("outputs", "y", "shape"), "22"),
        (("outputs", "y", "sha256"), "0"),
        (("outputs", "y", "sha256"), None),
        (("inputs", "x", "kind"), "other"),
        (("inputs", "x", "kind"), []),
    ],
)
def test_a_sealed_file_with_another_value_of_a_field_is_refused(
    place: tuple[str, ...], value: object, tmp_path: Path
) -> None:
    facts: dict[str, object] = json.loads(json.dumps(certificate().as_json()))
    del facts["sha256"]
    owner: Any = facts
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = value
    (tmp_path / "c.json").write_text(json.dumps({**facts, "sha256": seal(facts)}))
    with refusal("certificate", "no valid certificate"):
        load_certificate(tmp_path / "c.json")


def test_certificates_of_equal_runs_are_equal(tmp_path: Path) -> None:
    assert load_certificate(certificate().save(tmp_path / "c.json")) == certificate()
    assert certificate() != sx.tools.certify(parse_model(TEXT), {"x": FEEDS["x"] + 1})


def test_a_file_is_damaged_at_any_depth_of_nesting(tmp_path: Path) -> None:
    path, limit = tmp_path / "c.json", sys.getrecursionlimit()
    for depth in range(limit - 60, limit + 1):
        path.write_text(f'{{"format": "{FORMAT}", "a": {"[" * depth}{"]" * depth}}}')
        with refusal("certificate", "damaged|must be a certificate"):
            load_certificate(path)


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sx.tools.verify(tmp_path / "none.json", parse_model(TEXT), FEEDS)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="certificate must be"):
        sx.tools.verify(3, parse_model(TEXT), FEEDS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="seed must be"):
        sx.tools.certify(parse_model(TEXT), FEEDS, seed=None)  # type: ignore[arg-type]
