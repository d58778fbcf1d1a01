"""Scoring on Ray: what is refused before a cluster is asked for.  The step `make test-ray` scores on one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main

TABLE = pa.table({"a": [1.0]})


@pytest.fixture
def model() -> sx.Model:
    return parse_model("g (float[N] a) => (float[N] y) { y = Neg(a) }")


def test_without_ray_the_package_to_install_is_named(
    model: sx.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "sardonyx._src.score.job.ray_workers", raising=False)
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "in.parquet")
    sx.save(model, "m.onnx")
    with pytest.raises(sx.MissingPackage, match=r"pip install 'sardonyx\[ray\]'") as error:
        sx.score(model, "in.parquet", ray=True)
    assert error.value.package == "ray"
    assert main("score m.onnx in.parquet -o out.parquet --ray 10.0.0.1:6379".split()) != 0
    assert "sardonyx[ray]" in capsys.readouterr().err
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("source", [TABLE, "-", ["in.parquet", TABLE]])
def test_sources_that_workers_cannot_open_are_refused(model: sx.Model, source: object) -> None:
    with pytest.raises(sx.InputError, match="with ray, the source must be paths of files"):
        sx.score(model, source, ray=True)


def test_an_address_is_a_text(model: sx.Model) -> None:
    with pytest.raises(TypeError, match="ray must be True, False or an address; got int"):
        sx.score(model, "in.parquet", ray=cast("str", 6379))
