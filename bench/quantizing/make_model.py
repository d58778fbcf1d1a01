"""Quantizes a model with one tool, in a process of its own.

    python bench/quantizing/make_model.py '{"tool": "NNCF", "scheme": "int8", "model": ..., "calibration": ..., "out": ...}'

calibration: a folder of .npz files, one for each run.  The last line of the output is JSON: the seconds of the processor that
the tool took, without imports, and the peak memory of the process in MB.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 32  # of weights of 4 bits
Feeds = dict[str, Any]
Maker = Callable[[str, str, list[Feeds]], None]


def sardonyx(scheme: str) -> Maker:
    import sardonyx as sx

    def make(model: str, out: str, runs: list[Feeds]) -> None:
        sx.save(sx.quantize(model, scheme, data=runs, force=True, rounds=0).model, out)

    return make


def onnxruntime(scheme: str) -> Maker:
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization import matmul_nbits_quantizer as blocks
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Inputs(quantization.CalibrationDataReader):  # type: ignore[misc]  # untyped
        def __init__(self, runs: list[Feeds]) -> None:
            self.feeds = iter(runs)

        def get_next(self) -> object:
            return next(self.feeds, None)

    def make(model: str, out: str, runs: list[Feeds]) -> None:
        if scheme == "int4":
            quantizer = blocks.MatMulNBitsQuantizer(onnx.load(model), block_size=BLOCK, is_symmetric=True)
            quantizer.process()
            quantizer.model.save_model_to_file(out)
            return
        quant_pre_process(model, f"{out}.prepared", skip_symbolic_shape=True)
        weights = quantization.QuantType.QInt8
        if scheme == "int8":
            quantization.quantize_static(
                f"{out}.prepared", out, Inputs(runs), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                activation_type=quantization.QuantType.QUInt8, weight_type=weights,
            )  # fmt: skip
        else:
            quantization.quantize_dynamic(f"{out}.prepared", out, per_channel=True, weight_type=weights)

    return make


def nncf(scheme: str) -> Maker:
    import nncf as tool
    import onnx

    def make(model: str, out: str, runs: list[Feeds]) -> None:
        original, data = onnx.load(model), tool.Dataset(runs)
        if scheme == "int8":
            onnx.save(tool.quantize(original, data, subset_size=len(runs)), out)
        elif scheme == "int4":
            mode = tool.CompressWeightsMode.INT4_SYM
            onnx.save(tool.compress_weights(original, mode=mode, group_size=BLOCK, dataset=data), out)
        else:
            raise NotImplementedError("NNCF has no ranges of each run")

    return make


def olive(scheme: str) -> Maker:
    from olive.data.config import DataConfig
    from olive.data.registry import Registry
    from olive.model import ONNXModelHandler
    from olive.passes.olive_pass import create_pass_from_dict
    from olive.passes.onnx.quantization import OnnxDynamicQuantization, OnnxStaticQuantization
    from olive.passes.onnx.rtn_quantization import OnnxBlockWiseRtnQuantization

    def make(model: str, out: str, runs: list[Feeds]) -> None:
        class Runs:
            def __len__(self) -> int:
                return len(runs)

            def __getitem__(self, index: int) -> tuple[Feeds, int]:
                return runs[index], 0

        class Loader:
            def __iter__(self) -> Iterator[tuple[Feeds, int]]:
                return iter([(feeds, 0) for feeds in runs])

            def __len__(self) -> int:
                return len(runs)

        Registry.register_dataset("calibration_runs")(lambda **_: Runs())
        Registry.register_dataloader("calibration_loader")(lambda dataset, **_: Loader())
        data = DataConfig(
            name="runs",
            type="DataContainer",
            load_dataset_config={"type": "calibration_runs"},
            pre_process_data_config={"type": "skip_pre_process"},
            post_process_data_config={"type": "skip_post_process"},
            dataloader_config={"type": "calibration_loader"},
        )
        settings: dict[str, tuple[Any, Mapping[str, Any]]] = {
            "int8": (
                OnnxStaticQuantization,
                {"data_config": data, "activation_type": "uint8", "per_channel": True},
            ),
            "int8-dynamic": (OnnxDynamicQuantization, {"per_channel": True}),
            "int4": (OnnxBlockWiseRtnQuantization, {"block_size": BLOCK}),
        }
        kind, options = settings[scheme]
        chosen = create_pass_from_dict(kind, dict(options), disable_search=True)
        result = chosen.run(ONNXModelHandler(model), f"{out}.olive")
        Path(out).write_bytes(Path(result.model_path).read_bytes())

    return make


TOOLS: Mapping[str, Callable[[str], Maker]] = {
    "Sardonyx": sardonyx,
    "onnxruntime": onnxruntime,
    "NNCF": nncf,
    "Olive": olive,
}


def peak_megabytes() -> float:
    """The peak memory since this program began; that of getrusage would count the process that started it, too."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    facts = json.loads(sys.argv[1])
    runs = []
    for path in sorted(Path(facts["calibration"]).glob("*.npz")):
        with np.load(path) as archive:
            runs.append(dict(archive))
    make = TOOLS[facts["tool"]](facts["scheme"])
    start = time.process_time()
    make(facts["model"], facts["out"], runs)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "peak": peak_megabytes()}))


if __name__ == "__main__":
    main()
