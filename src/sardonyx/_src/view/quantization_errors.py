"""Reports of quantizations as data of a page: the errors of layers at their nodes, of the original or the quantized model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sardonyx._src.arguments import shown
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import PathSource
from sardonyx._src.quantize.report.report import QuantizationReport
from sardonyx._src.view.node_places import NodePlace, NodePlaces
from sardonyx._src.view.page_data import NONE, DocumentData
from sardonyx._src.view.quantization_data import QuantizationData
from sardonyx._src.view.reading.documents import ReadDocument

ReportSource: TypeAlias = PathSource | QuantizationReport


def quantization_errors(document: ReadDocument, source: ReportSource) -> QuantizationData:
    """The errors in a report, or in a file that `sardonyx quantize --json` has written.

    The share of a layer is that of the final error, if the report has it; else that of the layers' own errors.
    Raises OSError for a file that cannot be read, and InputError for one that is no report, or of another model.
    """
    facts = source.as_json() if isinstance(source, QuantizationReport) else read_report(source)
    try:
        return place_errors(document.data, facts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise no_report(source, error) from None


def read_report(path: PathSource) -> Mapping[str, Any]:
    try:
        facts = json.loads(Path(path).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise no_report(path, error) from None
    if not isinstance(facts, dict):
        raise no_report(path, TypeError("it is no object"))
    return facts


def no_report(source: object, error: Exception) -> InputError:
    what = "report must be a report of sx.quantize, or a file that `sardonyx quantize --json` has written"
    return InputError(f"{what}; got {shown(str(source))}: {type(error).__name__} {error}", name="report")


def place_errors(document: DocumentData, facts: Mapping[str, Any]) -> QuantizationData:
    """The layers of a report at the nodes of their names; those that the document lacks are left out."""
    layers: Sequence[Mapping[str, Any]] = facts["layers"]
    has_shares = any(layer.get("share") is not None for layer in layers)
    shares = final_shares(layers) if has_shares else own_shares(layers)
    places = NodePlaces(document)
    result: QuantizationData = {
        "scheme": str(facts["scheme"]),
        "measure": "final" if has_shares else "layers",
        "outputs": [(str(item["name"]), number_of(item["signal_to_noise"])) for item in facts["outputs"]],
        "nodes": {"graph": [], "node": [], "layer": [], "share": [], "alone": [], "own": [], "bits": []},
        "kept": {"graph": [], "node": [], "why": []},
    }
    columns = result["nodes"]
    for layer, share in zip(layers, shares, strict=True):
        for graph, node in find_layer(document, places, str(layer["layer"])):
            columns["graph"].append(graph)
            columns["node"].append(node)
            columns["layer"].append(str(layer["layer"]))
            columns["share"].append(share)
            columns["alone"].append(number_of(layer.get("alone")))
            columns["own"].append(number_of(layer["signal_to_noise"]))
            columns["bits"].append(int(layer["bits"]))
    for item in facts["kept"]:
        for graph, node in find_layer(document, places, str(item["layer"])):
            result["kept"]["graph"].append(graph)
            result["kept"]["node"].append(node)
            result["kept"]["why"].append(str(item["why"]))
    if layers and not columns["node"]:
        what = f"report must be of this model; got one of {layers[0]['layer']!r} and {len(layers) - 1} other layers"
        raise InputError(f"{what}, which the model lacks", name="report")
    return result


def final_shares(layers: Sequence[Mapping[str, Any]]) -> list[float]:
    return [number_of(layer.get("share")) or 0.0 for layer in layers]


def own_shares(layers: Sequence[Mapping[str, Any]]) -> list[float]:
    """The noise of each layer, of its signal, as a share of the sum; layers without an error have no share."""
    ratios = [number_of(layer["signal_to_noise"]) for layer in layers]
    noise = [0.0 if ratio is None else 10 ** (-ratio / 10) for ratio in ratios]
    return [part / (sum(noise) or 1) for part in noise]


def number_of(value: object) -> float | None:
    """A finite number of a report; None for null."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def find_layer(document: DocumentData, places: NodePlaces, name: str) -> Iterator[NodePlace]:
    """The node of a layer: of its name, or that reads the weight of its name."""
    path = places.find(name)
    if path:
        yield path[-1]
        return
    graph, strings = document["graphs"][0], document["strings"]
    weights = {
        i for i, text in enumerate(graph["values"]["name"]) if strings[text] in (name, f"{name}_dequantized")
    }
    first = 0
    for node, end in enumerate(graph["nodes"]["inputEnds"]):
        if weights.intersection(graph["nodes"]["inputs"][first:end]) - {NONE}:
            yield 0, node
        first = end
