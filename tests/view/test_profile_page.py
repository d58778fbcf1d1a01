"""Time and memory in a page: the steps of a run on the nodes of the model that was read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InputError
from sardonyx._src.view.graph_labels import graph_labels
from sardonyx._src.view.node_places import NodePlaces
from sardonyx._src.view.page_data import ProfileData

MODEL = """
    g (float[N,64] x) => (float[N,64] y, float[N,64] d) <float[64,64] w> {
        [first] a = MatMul(x, w) [activation] b = Relu(a) [second] c = MatMul(b, w) [drawn] d = RandomNormalLike(c) y = Add(c, x)
    }
"""


def model() -> sx.Model:
    return parse_model(MODEL.replace("w>", "w = {" + ", ".join(["0.5"] * 4096) + "}>"))


@pytest.fixture(scope="module")
def profile() -> ProfileData:
    data = sx.view(model(), profile=True, dims={"N": 32}).data["documents"][0]["profile"]
    assert data is not None
    return data


@pytest.mark.native
def test_every_node_has_time_and_engine(profile: ProfileData) -> None:
    nodes = profile["nodes"]
    assert sorted(nodes["node"]) == [0, 1, 2, 3, 4]
    assert all(seconds >= 0 for seconds in nodes["seconds"]) and max(nodes["seconds"]) > 0
    engines = dict(zip(nodes["node"], nodes["engine"], strict=True))
    assert engines == {0: "native", 1: "native", 2: "native", 3: "reference", 4: "native"}


@pytest.mark.native
def test_operations_are_those_of_the_run(profile: ProfileData) -> None:
    nodes = profile["nodes"]
    flops = dict(zip(nodes["node"], nodes["flops"], strict=True))
    assert flops[2] == pytest.approx(2 * 32 * 64 * 64, rel=0.05)
    assert profile["peakFlops"] > 1e8


@pytest.mark.native
def test_what_the_compiler_fuses_is_a_region(profile: ProfileData) -> None:
    assert any({0, 1} <= set(region["nodes"]) for region in profile["regions"])


@pytest.mark.native
def test_memory_over_the_run(profile: ProfileData) -> None:
    sizes = [step["bytes"] for step in profile["memory"]]
    peak = profile["memory"][sizes.index(max(sizes))]
    assert max(sizes) >= 32 * 64 * 4 and peak["values"]


@pytest.mark.native
def test_a_stored_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(model(), tmp_path / "m.onnx")
    assert main(["profile", str(tmp_path / "m.onnx"), "--dim", "N=32", "--json"]) == 0
    (tmp_path / "p.json").write_text(capsys.readouterr().out)
    words = ["view", str(tmp_path / "m.onnx"), "--stored-profile", str(tmp_path / "p.json"), "--json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)["documents"][0]["profile"]
    assert sorted(data["nodes"]["node"]) == [0, 1, 2, 3, 4] and data["memory"] == []


NESTED = """
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (int64 n, float[16,16] x) => (float[16,16] y) {
        [repeat] a = Loop(n, , x) <body = b (int64 i, bool c, float[16,16] s) => (bool d, float[16,16] r) {
            d = Identity(c) [square] t = MatMul(s, s) [bent] r = Tanh(t)
        }>
        [first] b = local.Mixed(a) [second] c = local.Mixed(b) [last] y = Softmax(c)
    }
    <opset_import: ["": 21], domain: "local">
    Mixed(v) => (w) { [product] u = MatMul(v, v) w = Softmax(u) }
"""


@pytest.mark.native
def test_nodes_of_loops_and_functions_have_time() -> None:
    document = sx.view(sx.from_text(NESTED), profile=True, feeds={"n": np.array(3)}).data["documents"][0]
    profile = document["profile"]
    assert profile is not None
    columns = profile["nodes"]
    places = list(zip(columns["graph"], columns["node"], strict=True))
    seconds = dict(zip(places, columns["seconds"], strict=True))
    labels = dict(enumerate(graph_labels(document)))
    assert {(labels[graph], node) for graph, node in places} >= {
        ("repeat.body", 1), ("repeat.body", 2), ("main", 1), ("main", 2), ("local.Mixed", 0), ("local.Mixed", 1),
    }  # fmt: skip
    assert len(places) == len(set(places)) == len(seconds)
    body = seconds[1, 0] + seconds[1, 1]  # of both calls
    assert body == pytest.approx(seconds[0, 1] + seconds[0, 2], rel=1e-6)
    assert {region["graph"] for region in profile["regions"]} >= {0, 2}


def test_names_of_inlined_nodes_lead_into_functions() -> None:
    places = NodePlaces(sx.view(sx.from_text(NESTED)).data["documents"][0])
    assert places.find("last") == ((0, 3),)
    assert places.find("square") == ((2, 1),)
    assert places.find("first/product") == ((0, 1), (1, 0))
    assert places.find("second/Softmax") == ((0, 2), (1, 1))
    assert places.find("first/product_7") == ((0, 1),) and places.find("other/product") == ()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"by_step": [{}], "peak": {"flops": 1}}', "[" * 5000])
def test_another_file_is_no_profile(tmp_path: Path, content: str) -> None:
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(
        InputError, match="a profile must be a file that `sardonyx profile --json` has written"
    ):
        sx.view(model(), profile=tmp_path / "p.json")


def test_feeds_are_for_runs() -> None:
    with pytest.raises(InputError, match="feeds requires a second model or a profile"):
        sx.view(model(), feeds={"x": np.ones((1, 64), np.float32)})
