"""The official backend suite of the onnx wheel: its node cases, its stored models, its nine networks."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from cases import assert_fits, type_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.data import datum_from, record_type
from sardonyx._src.ir import Array, Model, SparseTensor, TensorType
from sardonyx._src.ir.tensors import Storage
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.record import Record
from sardonyx._src.runtime.session.session import Session


class NoFiles:
    """The external data of models that have none."""

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> Storage:
        raise AssertionError(f"{where} is external: {entries}")


@dataclass(frozen=True)
class OfficialCase:
    """A model with data sets of inputs and expected outputs, and the tolerance that the suite allows."""

    name: str
    kind: str  # node, simple, pytorch-converted, pytorch-operator, real
    model: bytes | Path
    data: Sequence[tuple[Sequence[object], Sequence[object]]] | Path
    rtol: float
    atol: float

    def __str__(self) -> str:
        return self.name

    def load(self) -> Model:
        data = self.model if isinstance(self.model, bytes) else self.model.read_bytes()
        return from_proto.model(decode(data, m.ModelProto), NoFiles())

    def data_sets(self, model: Model) -> Iterator[tuple[list[object], list[object]]]:
        if not isinstance(self.data, Path):
            for inputs, outputs in self.data:
                yield [datum(x) for x in inputs], [datum(x) for x in outputs]
            return
        if self.kind == "real":
            yield network_data(self.data, model)
            return
        for folder in sorted(self.data.glob("test_data_set_*")):
            yield load_stored(folder, "input", model), load_stored(folder, "output", model)


def datum(value: object) -> object:
    """A value of a node case: an array, a list, a map, or a message of the wheel's protobuf classes."""
    serialize = getattr(value, "SerializeToString", None)
    if serialize is None:
        return strings_as_str(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value
    kind: type[Record] = getattr(m, type(value).__name__)
    return datum_from(decode(serialize(), kind), NoFiles())  # type: ignore[arg-type]


def strings_as_str(value: Array) -> Array:
    if value.dtype.kind not in "OSU":
        return value
    texts = [x.decode() if isinstance(x, bytes) else str(x) for x in value.reshape(-1).tolist()]
    result = np.empty(len(texts), object)
    result[:] = texts
    return result.reshape(value.shape)


def network_data(path: Path, model: Model) -> tuple[list[object], list[object]]:
    """A network's input, which the suite generates as a ramp from 0 to 1, and its stored output."""
    (value,) = (v for v in model.graph.inputs if v.initializer is None)
    assert isinstance(value.type, TensorType) and value.type.shape is not None, f"{path}: {value!r}"
    shape = tuple(d if isinstance(d, int) else 1 for d in value.type.shape)
    count = int(np.prod(shape))
    output = decode(path.with_name(f"{path.stem}_output_0.pb").read_bytes(), m.TensorProto)
    ramp = (np.arange(count).reshape(shape) / count).astype(np.float32)
    return [ramp], [datum_from(output, NoFiles())]


def load_stored(folder: Path, prefix: str, model: Model) -> list[object]:
    """The stored inputs or outputs of a data set, in order; types in the model determine the message of each file."""
    values = model.graph.inputs if prefix == "input" else model.graph.outputs
    result: list[object] = []
    count = len(list(folder.glob(f"{prefix}_*.pb")))
    for i in range(count):
        record = decode((folder / f"{prefix}_{i}.pb").read_bytes(), record_type(values[i].type))
        result.append(datum_from(record, NoFiles()))
    return result


@cache
def official_cases() -> tuple[OfficialCase, ...]:
    """Every case of the wheel, node cases first; generating those takes a few seconds."""
    return (*node_cases(), *stored_cases())


def node_cases() -> Iterator[OfficialCase]:
    from onnx.backend.test.loader import load_node_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes its cases with overflows and divisions by zero
        tests = load_node_model_tests()
    for case in tests:
        model = case.model.SerializeToString()
        yield OfficialCase(case.name, "node", model, case.data_sets, case.rtol, case.atol)


def stored_cases() -> Iterator[OfficialCase]:
    import onnx.backend.test
    from onnx.backend.test.loader import load_model_tests

    root = Path(os.path.dirname(onnx.backend.test.__file__)) / "data"
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            folder = Path(case.model_dir)
            yield OfficialCase(case.name, kind, folder / "model.onnx", folder, case.rtol, case.atol)
    for path in sorted((root / "light").glob("light_*.onnx")):
        yield OfficialCase(f"test_{path.stem.removeprefix('light_')}", "real", path, path, 1e-3, 1e-7)


def folder_cases(root: Path) -> Iterator[OfficialCase]:
    """The cases in a folder of older releases, a folder each, oldest first, without duplicates of equal content."""
    seen: set[bytes] = set()
    for model in sorted(root.rglob("model.onnx"), key=lambda path: version_key(path, root)):
        data = sorted(model.parent.glob("test_data_set_*/*.pb"))
        digest = hashlib.sha1(
            b"".join(p.read_bytes() for p in (model, *data)), usedforsecurity=False
        ).digest()
        if data and digest not in seen:
            seen.add(digest)
            name = "/".join(model.relative_to(root).parts[:1] + model.parent.parts[-1:])
            yield OfficialCase(name, "stored", model, model.parent, 1e-3, 1e-7)


def version_key(path: Path, root: Path) -> tuple[list[int], str]:
    """Orders `v1.9.0/...` before `v1.10.0/...`."""
    inner = path.relative_to(root)
    return [int(number) for number in re.findall(r"\d+", inner.parts[0])], str(inner)


OpenSession = Callable[[Model], Session]


def open_reference(model: Model) -> Session:
    return Session(model, engine="reference")


def open_native(model: Model) -> Session:
    return Session(model, engine="native")


def assert_case_passes(
    case: OfficialCase, model: Model | None = None, open_session: OpenSession = open_reference
) -> None:
    """Runs a case in a session and compares by the case's own tolerance; Bernoulli's by what is promised.

    `model`, if given, runs instead of the case's own.
    """
    model = model or case.load()
    session = open_session(model)
    for inputs, outputs in case.data_sets(model):
        names = [v.name for v in session.inputs if case.kind != "real" or not v.has_default]
        feeds = dict(zip(names, inputs, strict=False))
        results = list(session.run(feeds).values())
        if "bernoulli" in case.name:
            assert_random_outputs(case, model, inputs, results, list(session.run(feeds).values()))
        for i, (actual, expected) in enumerate(zip(results, outputs, strict=True)):
            if "bernoulli" in case.name:
                assert_fits(type_of(expected), actual, f"{case} output {i}")  # type: ignore[arg-type]
            else:
                assert_close(actual, expected, case.rtol, case.atol, f"{case} output {i}")


def assert_random_outputs(
    case: OfficialCase,
    model: Model,
    inputs: list[object],
    results: list[RuntimeValue],
    again: list[RuntimeValue],
) -> None:
    """Asserts the range of random outputs, and that a seed reproduces them."""
    x, y = np.asarray(inputs[0]).astype(float), np.asarray(results[0]).astype(float)
    assert set(np.unique(y)) <= {0.0, 1.0}, f"{case}: {y}"
    assert np.all(y[x == 0] == 0), f"{case}: drawn against a probability of 0"
    assert np.all(y[x == 1] == 1), f"{case}: drawn against a probability of 1"
    if any("seed" in node.attributes for node in model.graph.nodes):
        assert np.array_equal(y, np.asarray(again[0]).astype(float)), f"{case}: the seed does not repeat"


def assert_close(actual: object, expected: object, rtol: float, atol: float, where: str) -> None:
    """Asserts one kind of value, one element type and one shape, and elements within the tolerance."""
    if isinstance(expected, SparseTensor):
        expected = expected.numpy()
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), (
            f"{where}: {actual!r}, not {expected!r}"
        )
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            assert_close(a, e, rtol, atol, f"{where}[{i}]")
        return
    if not isinstance(expected, np.ndarray):
        assert actual == expected or (np.asarray(actual) == np.asarray(expected)).all(), (
            f"{where}: {actual!r}"
        )
        return
    assert isinstance(actual, np.ndarray), f"{where}: {type(actual).__name__}, not a tensor"
    assert actual.dtype == expected.dtype, f"{where}: {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{where}: shape {actual.shape}, not {expected.shape}"
    if expected.dtype.kind in "OSU":
        assert np.array_equal(actual, expected), f"{where}:\n{actual}\nis not\n{expected}"
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    rtol = max(rtol, 2**-6) if expected.dtype.name == "bfloat16" else rtol  # the suite's own rule
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol, atol, err_msg=where)


def matching(pattern: str, root: Path | None = None) -> list[OfficialCase]:
    """The cases of the wheel or of a folder whose names match the pattern."""
    cases = official_cases() if root is None else folder_cases(root)
    return [case for case in cases if re.search(pattern, case.name)]
