"""The data of a page, as the viewer reads them: the types of `viewer/src/page_data.ts`.

Integers in lists are indices: of `strings` of the document, where 0 is the empty string, for names and types; of values,
nodes, graphs or tensors for fields that are named after these.  -1 means none.  All lists of one group of columns have equal
lengths, except those of inputs and outputs, which `inputEnds` and `outputEnds` divide among the nodes.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from sardonyx._src.view.quantization_data import QuantizationData

Pair: TypeAlias = list[str]  # a list of two strings: key and value
GraphKind = Literal["main", "nested", "function", "initialization", "algorithm"]
ScopeKind = Literal["graph", "name", "namespace", "repetition", "part"]
DocumentForm = Literal["model", "operator set", "tensor", "broken"]
Change = Literal["equal", "changed", "added", "removed"]
ChangeKind = Literal["node", "value", "tensor", "attribute", "property"]
FindingSeverity = Literal["error", "warning", "note"]
EngineName = Literal["native", "reference"]
NONE = -1
UNKNOWN, DECLARED, INFERRED = 0, 1, 2  # sources of a value's type


class Owner(TypedDict):
    """The attribute that holds a nested graph."""

    graph: int
    node: int
    attribute: str


class AttributeData(TypedDict):
    name: str
    type: str
    text: str
    tensors: NotRequired[list[int]]
    graphs: NotRequired[list[int]]
    isDefault: NotRequired[bool]
    documentation: NotRequired[str]


class NodeNotes(TypedDict):
    documentation: NotRequired[str]
    metadata: NotRequired[list[Pair]]
    devices: NotRequired[list[str]]


class ValueNotes(TypedDict):
    documentation: NotRequired[str]
    metadata: NotRequired[list[Pair]]
    quantization: NotRequired[str]


class NodeColumns(TypedDict):
    operator: list[int]
    domain: list[int]
    overload: list[int]
    name: list[int]
    scope: list[int]
    body: list[int]
    inputs: list[int]
    inputEnds: list[int]
    outputs: list[int]
    outputEnds: list[int]
    inputNames: dict[int, list[str]]
    attributes: dict[int, list[AttributeData]]
    notes: dict[int, NodeNotes]


class ValueColumns(TypedDict):
    name: list[int]
    type: list[int]
    source: list[int]
    tensor: list[int]
    captured: list[int]
    producer: list[int]
    literal: dict[int, str]
    notes: dict[int, ValueNotes]


class ScopeColumns(TypedDict):
    parent: list[int]
    kind: list[ScopeKind]
    label: list[int]
    count: list[int]
    nodes: list[int]


class GraphData(TypedDict):
    kind: GraphKind
    name: str
    documentation: str
    metadata: list[Pair]
    owner: Owner | None
    inputs: list[int]
    outputs: list[int]
    nodes: NodeColumns
    values: ValueColumns
    scopes: ScopeColumns


class FunctionRecord(TypedDict):
    graph: int
    domain: str
    name: str
    overload: str
    attributes: list[Pair]
    documentation: str
    imports: list[Pair]


class OperatorRecord(TypedDict):
    domain: str
    name: str
    sinceVersion: int
    status: str
    documentation: str
    function: int


class Statistics(TypedDict):
    """Statistics of the finite elements; `histogram` counts them in bins of equal width from minimum to maximum."""

    minimum: float
    maximum: float
    mean: float
    deviation: float
    zeros: int
    notFinite: int
    histogram: list[int]


class Picture(TypedDict):
    """Gray values of 8 bits, row by row, as base64."""

    width: int
    height: int
    pixels: str


class TensorData(TypedDict):
    name: str
    type: str
    shape: list[int]
    bytes: int
    location: str
    sparse: bool
    preview: str
    statistics: Statistics | None
    picture: Picture | None
    data: str | None
    documentation: NotRequired[str]
    metadata: NotRequired[list[Pair]]


class TrainingData(TypedDict):
    initialization: int
    algorithm: int
    initializationBindings: list[Pair]
    updateBindings: list[Pair]


class PlaceData(TypedDict):
    graph: int
    node: int
    value: int
    attribute: str


class FindingData(TypedDict):
    severity: FindingSeverity
    code: str
    message: str
    clause: str
    cure: str
    place: PlaceData


class NodeProfile(TypedDict):
    """One row for each node.

    A node in the body of a function has the sums over all calls; the times are also part of the rows of the calls.
    """

    graph: list[int]
    node: list[int]
    seconds: list[float]
    flops: list[int]
    bytes: list[int]
    engine: list[EngineName]
    region: list[int]


class RegionData(TypedDict):
    name: str
    graph: int
    nodes: list[int]


class MemoryStep(TypedDict):
    step: str
    bytes: int
    values: list[str]


class ProfileData(TypedDict):
    unit: Literal["seconds"]
    peakFlops: float
    nodes: NodeProfile
    regions: list[RegionData]
    memory: list[MemoryStep]


class DocumentData(TypedDict):
    source: str
    kind: DocumentForm
    strings: list[str]
    properties: list[Pair]
    imports: list[Pair]
    metadata: list[Pair]
    documentation: str
    graphs: list[GraphData]
    functions: list[FunctionRecord]
    operatorSchemas: list[OperatorRecord]
    tensors: list[TensorData]
    training: list[TrainingData]
    configurations: list[Pair]
    findings: list[FindingData]
    profile: ProfileData | None
    quantization: QuantizationData | None


class GraphPair(TypedDict):
    """Two graphs that correspond to each other, and the pairs of their nodes; -1 for a node without counterpart."""

    before: int
    after: int
    nodes: list[list[int]]


class ChangeData(TypedDict):
    kind: ChangeKind
    change: Change
    before: PlaceData | None
    after: PlaceData | None
    text: str
    error: float


class DifferenceData(TypedDict):
    summary: list[str]
    graphs: list[GraphPair]
    changes: list[ChangeData]
    firstDivergence: int


class PageData(TypedDict):
    format: Literal[1]
    title: str
    documents: list[DocumentData]
    difference: DifferenceData | None
    server: bool


def empty_graph(kind: GraphKind, name: str = "", documentation: str = "") -> GraphData:
    """A graph without nodes and values."""
    return {
        "kind": kind,
        "name": name,
        "documentation": documentation,
        "metadata": [],
        "owner": None,
        "inputs": [],
        "outputs": [],
        "nodes": {
            "operator": [], "domain": [], "overload": [], "name": [], "scope": [], "body": [],
            "inputs": [], "inputEnds": [], "outputs": [], "outputEnds": [],
            "inputNames": {}, "attributes": {}, "notes": {},
        },
        "values": {
            "name": [], "type": [], "source": [], "tensor": [], "captured": [], "producer": [],
            "literal": {}, "notes": {},
        },
        "scopes": {"parent": [NONE], "kind": ["graph"], "label": [0], "count": [1], "nodes": [0]},
    }  # fmt: skip
