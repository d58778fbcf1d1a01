"""How fast are models loaded and saved, and with how much memory, compared with onnx and onnx-ir?"""

from __future__ import annotations

import os
from collections.abc import Iterable

from make_models import chain, decoder
from measure import BUILD, Row, compare

SARDONYX = "import sardonyx as sx\n"
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


def saving(what: str, path: str) -> Iterable[Row]:
    """Rows for saving with external data; bytes written are those that the system counts for the process."""
    out = str(BUILD / "saved.onnx")
    data = str(BUILD / "saved.onnx.data")
    save = f"import os\nwith measured(): sx.save(model, {out!r}, external=True)"
    onnx_save = (
        f"import os\nif os.path.exists({data!r}): os.remove({data!r})\n"
        f"with measured(): onnx.save(model, {out!r}, save_as_external_data=True, location='saved.onnx.data')"
    )
    return compare(
        what,
        {
            "sardonyx": f"{SARDONYX}model = sx.load({path!r})\n{save}",
            "onnx": f"{ONNX}model = onnx.load({path!r})\n{onnx_save}",
        },
        runs=3,
    )


def importing() -> list[Row]:
    return compare(
        "import",
        {
            "sardonyx": "with measured(): import sardonyx",
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
    table_rows += saving("save decoder with external data", big)
    return table_rows


if __name__ == "__main__":
    rows()
