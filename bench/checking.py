"""How long does a check take, and how much memory, compared with onnx's checker?

Times are measured in one process, in turn; added peak memory in fresh processes.  All tools take the path of a file.
onnx's checker checks the structure alone (plain), and with `full_check` also infers types; so does Sardonyx, unless the
rules that need types (SX7) are ignored.
"""

from __future__ import annotations

import time
from pathlib import Path

from make_models import chain, decoder, encoder
from measure import BUILD, Row, row, run

TOOLS = {
    "sardonyx": "check(path)",
    "onnx, full_check": "check_model(path, full_check=True)",
    "sardonyx, without types": "check(path, ignore=['SX7'])",
    "onnx, plain": "check_model(path)",
}
IMPORTS = "from onnx.checker import check_model\nfrom sardonyx._src.check import check\n"


def rows() -> list[Row]:
    return [
        *compare("check encoder, 600 nodes, 366 MB of weights", save_typed(encoder()), runs=7),
        *compare("check decoder, 290 nodes, 440 MB of weights", save_typed(decoder()), runs=7),
        *compare("check chain, 20,000 nodes", chain(), runs=7),
    ]


def save_typed(path: Path) -> Path:
    """The path of the model with the types of its values and outputs added, which checkers verify."""
    import sardonyx as sx

    result = BUILD / f"typed_{path.name}"
    if not result.exists():
        model = sx.load(path)
        sx.infer(model)
        sx.save(model, result, external=False)
    return result


def compare(what: str, path: Path, *, runs: int) -> list[Row]:
    """Rows of all tools on one model, run in turn; the first run warms up and is not counted."""
    names: dict[str, object] = {"path": str(path)}
    exec(IMPORTS, names)
    tools = {tool: compile(code, tool, "exec") for tool, code in TOOLS.items()}
    seconds: dict[str, list[float]] = {tool: [] for tool in tools}
    for turn in range(runs + 1):
        for tool, code in tools.items():
            start = time.perf_counter()
            exec(code, names)
            if turn:
                seconds[tool].append(time.perf_counter() - start)
    return [
        row(what, tool, [{"seconds": s, "bytes": memory(code, path), "written": 0} for s in seconds[tool]])
        for tool, code in TOOLS.items()
    ]


def memory(code: str, path: Path) -> float:
    """Added peak memory in bytes of a fresh process; a tiny model is checked before, which imports all modules."""
    small = f"path = {str(tiny())!r}\n{code}\n"
    return run(f"{IMPORTS}{small}path = {str(path)!r}\nwith measured(): {code}")["bytes"]


def tiny() -> Path:
    import sardonyx as sx

    path = BUILD / "tiny.onnx"
    if not path.exists():
        b = sx.ir.GraphBuilder(opset=21, name="tiny")
        b.output(b.Relu(b.input("x", sx.DataType.FLOAT, [2])), "y", b.tensor(sx.DataType.FLOAT, [2]))
        sx.save(b.model(), path)
    return path


if __name__ == "__main__":
    rows()
