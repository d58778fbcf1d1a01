"""How fast are models loaded and saved, and with how much memory, compared with onnx and onnx-ir?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from make_models import chain, decoder, decoder_external, typed_fields
from measure import BUILD, Row, compare

SARDONYX = "import sardonyx as sx\nsx.load, sx.save, sx.to_json\n"  # each is imported at its first use
ONNX = "import onnx\n"
ONNX_IR = "import onnx_ir\n"


def loading(what: str, path: str) -> list[Row]:
    return compare(
        what,
        {
            "sardonyx": f"{SARDONYX}with measured(): model = sx.load({path!r})",
            "onnx": f"{ONNX}with measured(): model = onnx.load({path!r})",
            "onnx-ir": f"{ONNX_IR}with measured(): model = onnx_ir.load({path!r})",
        },
    )


def reading(what: str, path: str) -> list[Row]:
    """Rows for loading a model and reading the operator and all names of each node of its graph."""
    onnx_read = "for n in model.graph.node: n.op_type, n.name, list(n.input), list(n.output)"
    own_read = "for n in model.graph.nodes: n.op_type, n.name, [v.name for v in n.inputs], [v.name for v in n.outputs]"
    return compare(
        what,
        {
            "sardonyx": f"{SARDONYX}with measured():\n    model = sx.load({path!r})\n    {own_read}",
            "onnx": f"{ONNX}with measured():\n    model = onnx.load({path!r})\n    {onnx_read}",
        },
    )


# The targets of all programs that save; none exists before a measurement, since replacing a long file takes time.
OUT, DATA = str(BUILD / "saved.onnx"), str(BUILD / "saved.onnx.data")
REMOVE = f"import os\nfor old in ({OUT!r}, {DATA!r}):\n    if os.path.exists(old): os.remove(old)\n"
SARDONYX_SAVE = {
    "external data": f"with measured(): sx.save(model, {OUT!r}, external=True)",
    "inline": f"with measured(): sx.save(model, {OUT!r}, external=False)",
}
ONNX_SAVE = {
    "external data": (
        f"with measured(): onnx.save(model, {OUT!r}, save_as_external_data=True, location='saved.onnx.data')"
    ),
    "inline": f"with measured(): onnx.save(model, {OUT!r})",
}
# Weights as arrays in memory, which no file backs.
TO_ARRAYS = """
import numpy as np
for value in model.graph.initializers.values():
    value.initializer = sx.Tensor.of(np.array(value.initializer.numpy()), name=value.name)
"""


def saving(what: str, path: str, layout: str, *, to_arrays: bool = False) -> Iterable[Row]:
    """Rows for saving with a layout of SARDONYX_SAVE, beside a copy of the model file, which is the limit.

    Sardonyx and the copy wait until the disk has the data, onnx does not.  Written bytes are those that the system
    counts for the process.
    """
    load = f"model = sx.load({path!r})\n{TO_ARRAYS if to_arrays else ''}"
    copy = (
        f"import shutil\nwith measured():\n    shutil.copyfile({str(decoder())!r}, {OUT!r})\n"
        f"    with open({OUT!r}, 'rb') as file: os.fsync(file.fileno())"
    )
    rows = compare(
        what,
        {
            "sardonyx": f"{SARDONYX}{load}{REMOVE}{SARDONYX_SAVE[layout]}",
            "onnx": f"{ONNX}model = onnx.load({path!r})\n{REMOVE}{ONNX_SAVE[layout]}",
            "copy of the file": f"{REMOVE}{copy}",
        },
        runs=3,
    )
    for old in (OUT, DATA):
        Path(old).unlink(missing_ok=True)
    return rows


def verifying(what: str, path: str) -> list[Row]:
    """Rows for loading a model whose external data have a checksum, and obtaining all of its weights as arrays."""
    use = "[value.initializer.numpy() for value in model.graph.initializers.values()]"
    return compare(
        what,
        {
            "sardonyx": f"{SARDONYX}with measured():\n    model = sx.load({path!r})\n    {use}",
            "sardonyx, verify_checksums=False": (
                f"{SARDONYX}with measured():\n    model = sx.load({path!r}, verify_checksums=False)\n    {use}"
            ),
            "onnx, which does not verify": f"{ONNX}with measured(): model = onnx.load({path!r})",
            "SHA-1 of the file": (
                f"import hashlib\nwith measured(), open({path + '.data'!r}, 'rb') as file:\n"
                "    hashlib.file_digest(file, 'sha1')"
            ),
        },
        runs=5,
    )


def converting_to_json(what: str, path: str) -> list[Row]:
    onnx_code = "from google.protobuf import json_format\n"
    return compare(
        what,
        {
            "sardonyx": f"{SARDONYX}model = sx.load({path!r})\nwith measured(): sx.to_json(model)",
            "onnx": f"{ONNX}{onnx_code}model = onnx.load({path!r})\nwith measured(): json_format.MessageToJson(model, indent=None)",
        },
        runs=5,
    )


def importing() -> list[Row]:
    return compare(
        "import",
        {
            "sardonyx": "with measured(): import sardonyx",
            "sardonyx, with load": "with measured(): from sardonyx import load",
            "numpy": "with measured(): import numpy",
            "onnx": "with measured(): import onnx",
            "onnx-ir": "with measured(): import onnx_ir",
        },
        runs=15,
    )


def rows() -> list[Row]:
    table_rows = importing()
    big, many = str(decoder()), str(chain())
    table_rows += loading(f"load decoder ({os.path.getsize(big) / 1e6:.0f} MB inline)", big)
    table_rows += loading("load chain (20,000 nodes)", many)
    table_rows += reading("load chain (20,000 nodes) and read its nodes", many)
    table_rows += converting_to_json("to_json, chain (20,000 nodes)", many)
    table_rows += converting_to_json("to_json, 2.4 MB of numbers in typed fields", str(typed_fields()))
    table_rows += saving("save decoder with external data", big, "external data")
    table_rows += saving("save decoder inline", big, "inline")
    external, checked = str(decoder_external()), str(decoder_external(checksum=True))
    table_rows += saving("save decoder, external to external data", external, "external data")
    table_rows += saving("save decoder, external to external data, with checksum", checked, "external data")
    table_rows += saving("save decoder, external to inline data", external, "inline")
    table_rows += saving("save decoder, arrays to external data", big, "external data", to_arrays=True)
    table_rows += saving("save decoder, arrays to inline data", big, "inline", to_arrays=True)
    table_rows += verifying("load decoder and use its external data, with checksum", checked)
    return table_rows


if __name__ == "__main__":
    rows()
