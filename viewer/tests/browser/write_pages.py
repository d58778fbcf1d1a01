"""Writes the pages that `python_pages.test.ts` opens, as `sardonyx view` writes them, into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import sardonyx as sx  # noqa: E402
from complete_model import DATA, DATA_FILE, complete_model  # noqa: E402
from models import parse_model, parse_record  # noqa: E402
from sardonyx._src.proto import messages as m  # noqa: E402
from sardonyx._src.proto.binary import encode  # noqa: E402
from sardonyx._src.proto.text import from_text  # noqa: E402

SCRIPT = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
BODY = "body = b (int64 i, bool c, float[N,2] s) => (bool d, float[N,2] r) { d = Identity(c) t = Neg(s) r = Add(t, shift) }"
MODEL = f"""
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (int64 n, float[N,3] x) => (float[N,2] y) <float[3,2] w = {{1, 2, 3, 4, 5, 6}}, float[2] shift = {{1, 2}}> {{
        [product] a = MatMul(x, w) [loop] b = Loop(n, , a) <{BODY}> [call] y = local.Activate<slope = 0.25>(b)
    }}
    <opset_import: ["": 21], domain: "local">
    Activate<slope>(v) => (r) {{ r = LeakyRelu<alpha: float = @slope>(v) }}
"""


def main() -> None:
    folder = Path(sys.argv[1])
    record = from_text(MODEL, m.ModelProto)
    data = encode(record)
    (folder / "model.onnx").write_bytes(data)
    sx.view(record, title="model").save(folder / "model.html")
    (folder / "broken.onnx").write_bytes(data[: data.index(b"local")])
    sx.view(folder / "broken.onnx").save(folder / "broken.html")
    invalid = parse_record("g (float[2] x) => (float[2] y) { [sum] y = Add(x, nowhere) }")
    sx.view(invalid, title="invalid").save(folder / "invalid.html")
    (folder / DATA_FILE).write_bytes(DATA)
    (folder / "complete.onnx").write_bytes(encode(complete_model()))
    sx.view(folder / "complete.onnx", weights=True).save(folder / "complete.html")
    sx.view(hostile(), title=SCRIPT).save(folder / "hostile.html")
    chain = parse_model(
        "g (float[N,3] x) => (float[N,3] y) { a = Dropout(x) b = Neg(a) c = Neg(b) y = Exp(c) }"
    )
    sx.view(chain, sx.optimize(chain), feeds={}, dims={"N": 2}, title="difference").save(
        folder / "difference.html"
    )
    sx.view(record, profile=True, dims={"N": 64}, title="profile").save(folder / "profile.html")


def hostile() -> m.ModelProto:
    """A model whose texts are scripts."""
    record = parse_record("g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.5>(x) }")
    assert record.graph is not None
    (node,) = record.graph.node
    node.name = node.doc_string = f"/{SCRIPT}/{SCRIPT}"
    node.input[0] = record.graph.input[0].name = record.graph.name = SCRIPT
    record.doc_string = record.graph.doc_string = f"# Title\n\n{SCRIPT} [link](javascript:window.hacked=1)"
    record.metadata_props = [m.StringStringEntryProto(key=SCRIPT, value=SCRIPT)]
    return record


if __name__ == "__main__":
    main()
