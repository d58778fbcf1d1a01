"""How fast are models loaded and saved, and with how much memory, beside onnx and onnx-ir?"""

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
    """Saving with external data; the bytes that reach the disk are the process's own count of writes."""
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
    found = importing()
    big, many = str(decoder()), str(chain())
    found += loading(f"load decoder ({os.path.getsize(big) / 1e6:.0f} MB inline)", big)
    found += loading("load chain (20,000 nodes)", many)
    found += saving("save decoder with external data", big)
    return found


if __name__ == "__main__":
    rows()
