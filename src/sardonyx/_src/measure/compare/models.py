"""`compare`: the first value in which two models, or two engines, differ on the same inputs, and the errors of all values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import require_integer, require_mapping, require_number, require_text
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.formatters import format_html
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Model, TensorType, Value
from sardonyx._src.ir.dims import Expr, evaluate
from sardonyx._src.ir.walk import location
from sardonyx._src.measure.compare.engines import Probe, probe_of
from sardonyx._src.measure.feeds import complete_feeds
from sardonyx._src.runtime.session.session_origin import ENGINES
from sardonyx._src.runtime.verification.values import ValueComparison, compare_value

DEFAULT_BYTES = 1 << 30  # bytes that the compared values of one run may need
COLUMNS = ("error", "tolerance", "max abs", "NaN, inf", "value", "node")


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """The result of a comparison of two runs; true if all outputs agree.

    outputs: the comparisons of the outputs.
    values: the comparisons of inner values and outputs, in the order of the first model.
    runs: the number of runs of each side: more than one if the values did not fit into memory together, and the first
        difference was found by bisection.
    first: the first value that differs.
    first_nonfinite: the first value with a NaN or infinity in the run of the first model.
    """

    outputs: tuple[ValueComparison, ...]
    values: tuple[ValueComparison, ...]
    runs: int

    @property
    def first(self) -> ValueComparison | None:
        return next((value for value in self.values if not value.agrees), None)

    @property
    def first_nonfinite(self) -> ValueComparison | None:
        return next((value for value in self.values if value.nonfinite[0]), None)

    @property
    def ok(self) -> bool:
        return all(output.agrees for output in self.outputs)

    def __bool__(self) -> bool:
        return self.ok

    def as_json(self) -> dict[str, object]:
        """The comparison as numbers, strings, lists and dicts."""
        first, nonfinite = self.first, self.first_nonfinite
        return {
            "ok": self.ok,
            "runs": self.runs,
            "first": None if first is None else first.as_json(),
            "first_nonfinite": None if nonfinite is None else nonfinite.as_json(),
            "outputs": [output.as_json() for output in self.outputs],
            "values": [value.as_json() for value in self.values],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table of errors; a `*` marks values that differ."""
        return [
            (
                f"{'*' * (not v.agrees)}{v.error:.2g}",
                f"{v.tolerance:.2g}",
                f"{v.max_abs:.2g}",
                f"{v.nonfinite[0]}, {v.nonfinite[1]}",
                v.name,
                v.node,
            )
            for v in self.values
        ]

    def summary(self) -> list[str]:
        """The first difference, the first NaN or infinity, and the verdict about the outputs."""
        lines = []
        if (first := self.first) is not None:
            lines.append(f"first difference: {first.name!r} of {first.node}: {first.why}")
        if (nonfinite := self.first_nonfinite) is not None:
            lines.append(f"first NaN or infinity: {nonfinite.name!r} of {nonfinite.node}")
        differing = [f"{output.name!r} ({output.why})" for output in self.outputs if not output.agrees]
        agreeing = len(self.outputs) - len(differing)
        lines.append(
            f"outputs: {agreeing} of {len(self.outputs)} agree"
            + (f"; {', '.join(differing)} differ" if differing else "")
        )
        return lines

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __str__(self) -> str:
        return "\n".join([*(f"{row[4]}: error {row[0]}, {row[5]}" for row in self.rows()), *self.summary()])

    def __repr__(self) -> str:
        return f"<ModelComparison: {self.summary()[-1]}>"


def compare(
    first: ModelSource,
    second: ModelSource | None = None,
    feeds: Mapping[str, object] | None = None,
    *,
    engine: str = "auto",
    against: str | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    bytes: int = DEFAULT_BYTES,
) -> ModelComparison:
    """Runs two models, or one model on two engines, on the same inputs, and compares the values that both name.

    second: by default the first model.
    feeds: inputs by name; the other inputs are random, with `seed` and the lengths `dims` of dimension variables.
    engine, against: the engines of the two sides: "auto", "native", "reference", "onnxruntime" or "openvino"; `against` is
        `engine` by default.
    tolerance: the permitted error relative to the largest element; by default it depends on the element type.
    bytes: the memory that the compared values of one run may need.  If they need more, the first difference is found by
        bisection, which assumes that a difference persists in later values.

    Raises InputError for models without a common output, for wrong feeds and unknown engines, and what sessions raise.
    """
    require_text("engine", engine)
    if against is not None:
        require_text("against", against)
    require_number("tolerance", tolerance, optional=True)
    require_integer("bytes", bytes, 0)
    if dims is not None:
        require_mapping("dims", dims, str, (int, np.integer), "names of dims to lengths")
    # Engines compute without declarations, and so are models compared whose declarations contradict their operators.
    a = infer_partially(resolve_model(first).copy()).model
    b = a if second is None else infer_partially(resolve_model(second).copy()).model
    values = complete_feeds(a, feeds, seed, dims)
    probes = probe_of(a, engine, values), probe_of(b, engine if against is None else against, values)
    shared = shared_values(a, b)
    outputs = [v.name for v in a.graph.outputs if v.name in {w.name for w in b.graph.outputs}]
    if not outputs:
        raise InputError("the models must have an output of the same name; got none", name="second")
    return Comparer(a, probes, tolerance, bytes, sizes_of(shared, values)).run(shared, outputs)


def shared_values(a: Model, b: Model) -> list[Value]:
    """The results of nodes of the main graph that have a name in both models, in the order of the first one."""
    names = {value.name for node in b.graph.nodes for value in node.outputs}
    return [v for node in a.graph.nodes for v in node.outputs if v.name and v.name in names]


def sizes_of(values: Iterable[Value], feeds: Mapping[str, object]) -> dict[str, int]:
    """The bytes of values by name, as their types state them; unknown dims count as 1."""
    lengths: dict[str, int] = {}
    values = list(values)
    graph = values[0].producer.graph if values and values[0].producer else None
    for port in graph.inputs if graph is not None else ():
        shape = port.type.shape if isinstance(port.type, TensorType) else None
        for dim, length in zip(shape or (), np.asarray(feeds.get(port.name)).shape, strict=False):
            if isinstance(dim, Expr):
                lengths[str(dim)] = length
    return {value.name: size_of(value, lengths) for value in values}


def size_of(value: Value, lengths: Mapping[str, int]) -> int:
    if not isinstance(value.type, TensorType):
        return 0
    sizes = [1 if dim is None else evaluate(dim, lengths) or 1 for dim in value.type.shape or ()]
    return math.prod(sizes) * max(value.type.dtype.bits // 8, 1)


class Comparer:
    """Compares values of two runs, all at once or by bisection."""

    def __init__(
        self,
        model: Model,
        probes: tuple[Probe, Probe],
        tolerance: float | None,
        limit: int,
        sizes: Mapping[str, int],
    ) -> None:
        self.probes = probes
        self.tolerance = tolerance
        self.limit = limit
        self.sizes = sizes
        self.locations = {v.name: location(node) for node in model.graph.nodes for v in node.outputs}
        self.runs = 0

    def run(self, shared: Sequence[Value], outputs: Sequence[str]) -> ModelComparison:
        """The comparison of outputs, and of the values up to the first difference or all that fit into memory."""
        names: Sequence[str] = [value.name for value in shared]
        known: dict[str, ValueComparison] = {}
        if not self.fits(names):
            names = self.bisect(names, known)
        known |= {c.name: c for c in self.compare([*dict.fromkeys([*names, *outputs])])}
        order = [value.name for value in shared if value.name in known]
        return ModelComparison(
            tuple(known[name] for name in outputs), tuple(known[name] for name in order), self.runs
        )

    def bisect(self, names: Sequence[str], known: dict[str, ValueComparison]) -> Sequence[str]:
        """The names among which the first difference is, few enough for one run; adds all comparisons to `known`."""
        while len(names) > 1 and not self.fits(names):
            middle = (len(names) - 1) // 2
            (probed,) = self.compare([names[middle]])
            known[probed.name] = probed
            names = names[middle + 1 :] if probed.agrees else names[: middle + 1]
        return names

    def fits(self, names: Sequence[str]) -> bool:
        return sum(self.sizes[name] for name in names) <= self.limit

    def compare(self, names: Sequence[str]) -> list[ValueComparison]:
        """Runs both sides and compares these values."""
        self.runs += 1
        ours, theirs = (probe(names) for probe in self.probes)
        return [
            compare_value(
                name, self.locations.get(name, "an input"), ours[name], theirs[name], self.tolerance
            )
            for name in names
        ]


def engine_names() -> tuple[str, ...]:
    """The engines of a comparison."""
    return (*ENGINES, "onnxruntime", "openvino")
