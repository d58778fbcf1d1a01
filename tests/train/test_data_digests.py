"""Digests of training data, and runs that are continued with other data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.train.fit import data_digest
from sardonyx._src.train.fit.data_digest import digest_of_rows
from sardonyx.train import FitResult, fit
from train.classification import classifier, task

DATA = task()


def run(folder: Path, data: dict[str, np.ndarray], **options: object) -> FitResult:
    arguments = {"epochs": 1, "batch_size": 16, "engine": "reference", "folder": folder, **options}
    return fit(classifier(), data, **arguments)  # type: ignore[arg-type]


def with_another_element(name: str) -> dict[str, np.ndarray]:
    """The data with the last element of a column changed."""
    changed = {key: values.copy() for key, values in DATA.items()}
    column = changed[name].reshape(-1)
    column[-1] = column[-2] if column[-1] != column[-2] else 1 - column[-1]
    return changed


@pytest.mark.parametrize("name", ["x", "target"])
def test_a_run_is_not_continued_with_other_values(tmp_path: Path, name: str) -> None:
    run(tmp_path, DATA)
    with pytest.raises(sx.InputError) as caught:
        run(tmp_path, with_another_element(name), epochs=2)
    text = str(caught.value)
    assert f"folder must have a run with the same data for input {name!r}; " in text
    assert "has one with other values" in text and "resume=False" in text
    assert len(run(tmp_path, DATA, epochs=2).history) == 2  # the folder is as it was


def test_a_run_is_not_continued_with_other_validation_data(tmp_path: Path) -> None:
    run(tmp_path, DATA, validation=DATA)
    with pytest.raises(sx.InputError, match=r"the same validation for input 'x'; .* with other values"):
        run(tmp_path, DATA, validation=with_another_element("x"))
    with pytest.raises(sx.InputError, match=r"the same validation; .* with some:"):
        run(tmp_path, DATA)


def test_other_sizes_are_told(tmp_path: Path) -> None:
    run(tmp_path, DATA)
    fewer = {name: values[:20] for name, values in DATA.items()}
    count = len(DATA["x"])
    with pytest.raises(sx.InputError, match=rf"the same data for input 'x'; .*\[{count}, .*, not .*\[20, "):
        run(tmp_path, fewer)


def test_the_cure_that_the_error_names_goes_on_with_other_data(tmp_path: Path) -> None:
    first = run(tmp_path / "first", DATA)
    last, data = tmp_path / "first" / "last.onnx", with_another_element("x")
    updates = [
        int(sx.TrainingSession(model, engine="reference").state["train_updates"])
        for model in (
            first.checkpoint,
            fit(last, data, epochs=1, batch_size=16, engine="reference").checkpoint,
        )
    ]
    assert updates[1] == 2 * updates[0] > 0


def test_equal_elements_have_equal_digests() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    assert digest_of_rows(x) == digest_of_rows(np.asfortranarray(x)) == digest_of_rows(x.copy())
    assert len({digest_of_rows(x), digest_of_rows(x[::-1]), digest_of_rows(x[1:])}) == 3


def test_strings_are_told_apart_by_their_text() -> None:
    words, same = (np.array([" ".join("ab"), "c"], object) for _ in range(2))
    assert digest_of_rows(words) == digest_of_rows(same) != digest_of_rows(np.array(["a", "b c"], object))


def test_arrays_without_elements_have_digests() -> None:
    assert digest_of_rows(np.zeros((0, 3))) == digest_of_rows(np.zeros((4, 0)))


def test_the_digest_of_a_large_array_reads_its_beginning_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_digest, "CHUNK_BYTES", 64)
    monkeypatch.setattr(data_digest, "MAX_BYTES", 256)
    x = np.arange(4096, dtype=np.uint8).reshape(512, 8)
    ends = [x.copy(), x.copy()]
    ends[0][0] += 1
    ends[1][-1] += 1
    inside = x.copy()
    inside[100] += 1  # in none of the four chunks that are read
    assert digest_of_rows(x) == digest_of_rows(inside)
    assert len({digest_of_rows(x), *map(digest_of_rows, ends)}) == 3
