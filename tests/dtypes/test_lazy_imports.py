"""What importing the element types and `load` imports: slow modules are imported at first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("ml_dtypes", "hashlib", "pathlib", "sardonyx._src.ir.devices", "sardonyx._src.ir.operator_set")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("module", SLOW)
def test_load_does_not_import(module: str) -> None:
    numpy_alone = run(f"import sys, numpy; print({module!r} in sys.modules)")
    assert run(f"import sys, sardonyx; sardonyx.load; print({module!r} in sys.modules)") == numpy_alone


def test_an_extension_dtype_is_recognized_before_its_element_type_is_used() -> None:
    code = (
        "import ml_dtypes, numpy as np; from sardonyx._src.dtypes import DataType\n"
        "print([DataType.of(t).name for t in (ml_dtypes.bfloat16, np.dtype(ml_dtypes.int4))])\n"
        "print(DataType.of(np.dtype(ml_dtypes.bfloat16).newbyteorder('>')).name, DataType.INT2.numpy.itemsize)"
    )
    assert run(code) == "['BFLOAT16', 'INT4']\nBFLOAT16 1\n"


def test_an_extension_dtype_that_onnx_lacks_is_refused() -> None:
    code = (
        "import ml_dtypes; from sardonyx._src.dtypes import DataType\n"
        "try: DataType.of(ml_dtypes.float8_e4m3b11fnuz)\n"
        "except TypeError as error: print(error)"
    )
    assert run(code).startswith("ONNX has no element type for dtype float8_e4m3b11fnuz")
