"""Pictures as SVG and PNG, with the extra `view` and without it."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.view import drawings
from sardonyx._src.view.html import page_file

HOSTILE = "<script>alert(1)</script>"
SVG = "{http://www.w3.org/2000/svg}"


def model() -> sx.Model:
    model = parse_model("g (float[N,3] x) => (float[N,3] y) { a = Neg(x) y = LeakyRelu<alpha = 0.5>(a) }")
    model.graph.nodes[0].outputs[0].name = HOSTILE
    return model


@pytest.fixture
def _drawn() -> None:
    """Skips where the extra, or the viewer, is missing."""
    pytest.importorskip("py_mini_racer")
    pytest.importorskip("resvg_py")
    try:
        page_file(drawings.PROGRAM)
    except FileNotFoundError:
        pytest.skip("the viewer is not built")


@pytest.mark.usefixtures("_drawn")
def test_svg_shows_every_node_and_holds_no_script() -> None:
    root = ElementTree.fromstring(sx.view(model()).svg())
    assert root.tag == f"{SVG}svg"
    text = " ".join(root.itertext())
    assert "Neg" in text and "LeakyRelu" in text
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags.isdisjoint({"script", "foreignObject", "image", "a", "use"})
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)


@pytest.mark.usefixtures("_drawn")
def test_svg_shows_the_graph_that_is_named() -> None:
    branches = (
        "then_branch = t () => (float[2] p) { p = Neg(x) }, else_branch = e () => (float[2] q) { q = Abs(x) }"
    )
    page = sx.view(
        parse_model(f"g (bool c, float[2] x) => (float[2] y) {{ [choice] y = If(c) <{branches}> }}")
    )
    text = " ".join(ElementTree.fromstring(page.svg(graph="choice.else_branch")).itertext())
    assert "Abs" in text and "Neg" not in text and "If" not in text
    with pytest.raises(InputError, match="graph must be the label or name of a graph"):
        page.png(graph="loop")


@pytest.mark.usefixtures("_drawn")
def test_png_has_the_size_of_its_scale() -> None:
    page = sx.view(model())
    sizes = [int.from_bytes(page.png(scale=scale)[16:20], "big") for scale in (1.0, 2.0)]  # the width in IHDR
    assert abs(sizes[1] - 2 * sizes[0]) <= 2 and sizes[0] > 50
    assert page.png()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.usefixtures("_drawn")
def test_the_command_line_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(model(), tmp_path / "m.onnx")
    words = [
        "view",
        str(tmp_path / "m.onnx"),
        "--svg",
        str(tmp_path / "m.svg"),
        "--png",
        str(tmp_path / "m.png"),
    ]
    assert main([*words, "--dark"]) == 0
    assert "m.svg" in capsys.readouterr().out
    assert (tmp_path / "m.svg").read_text("utf-8").startswith("<svg") and (
        tmp_path / "m.png"
    ).stat().st_size > 100


@pytest.mark.parametrize(("name", "package"), [("py_mini_racer", "mini-racer"), ("resvg_py", "resvg-py")])
def test_without_the_extra_the_error_names_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=r"pip install 'sardonyx\[view\]'") as caught:
        drawings.import_engine() if package == "mini-racer" else drawings.draw_png("<svg/>", 1.0)
    assert caught.value.package == package


@pytest.mark.parametrize("scale", [0, -1, 11, float("nan")])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(InputError, match=r"scale must be"):
        sx.view(model()).png(scale=scale)
