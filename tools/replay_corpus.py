"""The corpus of process replay: models, with feeds for a run of each.

The shared models, the stored models of the onnx wheel, a seeded selection of its node cases that has every operator, the
networks of bench/zoo, and small networks in several element types.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "models"
ZOO = ROOT / ".bench" / "zoo"
GROUPS = ("shared", "zoo", "typed", "stored", "node")  # of models, in the order of a recording
CASES_PER_OPERATOR = 3
SEED = 0
Feeds = dict[str, Any]  # arrays, lists, and other values that `Session.run` takes


@dataclass(frozen=True)
class Case:
    """A model and the feeds of a run; None for a model that is only compiled."""

    name: str
    model: Path | bytes
    feeds: Callable[[], Feeds | None]


@dataclass(frozen=True)
class Corpus:
    """The models of some groups whose names a pattern finds; zoo: the folder of the networks of bench/zoo."""

    zoo: Path = ZOO
    groups: Sequence[str] = GROUPS
    pattern: str = ""

    def cases(self) -> Iterator[Case]:
        makers: dict[str, Callable[[], Iterator[Case]]] = {
            "shared": shared_models,
            "zoo": partial(zoo_networks, self.zoo),
            "typed": typed_networks,
            "stored": stored_cases,
            "node": node_cases,
        }
        cases = (case for group in self.groups for case in makers[group]())
        return (case for case in cases if re.search(self.pattern, case.name))

    def words(self) -> list[str]:
        """This corpus as options of the command line."""
        return ["--zoo", str(self.zoo), "--groups", ",".join(self.groups), "--models", self.pattern]


def zoo_networks(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.onnx")):
        yield Case(f"zoo/{path.stem}", path, lambda: None)


def shared_models() -> Iterator[Case]:
    for folder in sorted(path.parent for path in SHARED.glob("*/model.onnx")):
        yield Case(f"shared/{folder.name}", folder / "model.onnx", partial(shared_feeds, folder))


def shared_feeds(folder: Path) -> Feeds:
    """The inputs that are stored with a shared model; see the README of their folder."""
    with np.load(folder / "ref.npz") as archive:
        values: Feeds = dict(archive)
    if (extra := folder / "ref.json").exists():
        values |= json.loads(extra.read_text())
    feeds = {name.removeprefix("in:"): v for name, v in values.items() if name.startswith("in:")}
    return {
        name: np.array(v["strings"], object).reshape(v["shape"]) if isinstance(v, dict) else v
        for name, v in feeds.items()
    }


def stored_cases() -> Iterator[Case]:
    """The models in files of the onnx wheel: small ones with data, and networks without."""
    import onnx.backend.test
    from onnx.backend.test.loader import load_model_tests

    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in sorted(load_model_tests(kind=kind), key=lambda case: str(case.name)):
            folder = Path(case.model_dir)
            yield Case(f"stored/{case.name}", folder / "model.onnx", partial(stored_feeds, folder))
    for path in sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("light_*.onnx")):
        yield Case(f"stored/{path.stem}", path, lambda: None)


def stored_feeds(folder: Path) -> Feeds | None:
    """The first data set; None if an input is not a tensor."""
    import onnx

    inputs = onnx.load(folder / "model.onnx").graph.input
    files = sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda path: int(path.stem[6:]))
    if not all(port.type.HasField("tensor_type") for port in inputs):
        return None
    tensors = (onnx.load_tensor(path) for path in files)
    return {port.name: onnx.numpy_helper.to_array(t) for port, t in zip(inputs, tensors, strict=False)}


def node_cases() -> Iterator[Case]:
    """Node cases of the onnx wheel in which every operator occurs; each adds an operator that has occurred rarely."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes expected values with overflows
        cases = sorted(load_model_tests(kind="node"), key=lambda case: str(case.name))
    random.Random(SEED).shuffle(cases)
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        operators = {(node.domain, node.op_type) for node in case.model.graph.node}
        if min(map(counts.__getitem__, operators), default=CASES_PER_OPERATOR) < CASES_PER_OPERATOR:
            counts.update(operators)
            names, values = [port.name for port in case.model.graph.input], case.data_sets[0][0]
            yield from variants(f"node/{case.name}", case.model, dict(zip(names, values, strict=False)))


def variants(name: str, model: Any, feeds: Feeds) -> Iterator[Case]:
    """A node case as it is, with constants for all inputs but the first, and of dynamic shape.

    Many kernels are generated for constant weights only, and node cases have inputs instead.
    """
    import onnx

    # A copy, since the wheel hands the same messages to every caller.
    model = onnx.ModelProto.FromString(model.SerializeToString())
    yield Case(name, model.SerializeToString(), lambda: feeds)
    ports = [*model.graph.input]
    if not feeds or not all(isinstance(v, np.ndarray) and v.dtype.kind in "biuf" for v in feeds.values()):
        return
    first = {ports[0].name: feeds[ports[0].name]}
    if len(ports) > 1:
        for port in ports[1:]:
            model.graph.initializer.append(onnx.numpy_helper.from_array(feeds[port.name], port.name))
        del model.graph.input[1:]
        yield Case(f"{name} (constants)", model.SerializeToString(), lambda: first)
    for axis, dim in enumerate(ports[0].type.tensor_type.shape.dim):
        dim.dim_param = f"d{axis}"
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    yield Case(f"{name} (dynamic)", model.SerializeToString(), lambda: first)


NETWORKS = {  # T is replaced by an element type; inputs from w on become seeded initializers
    "convolutions": """<ir_version: 8, opset_import: ["": 17]>
convolutions (T[N,3,H,W] x, T[16,3,3,3] w1, T[16,1,3,3] w2, T[24,16,1,1] w3, T[10,24] w4, T[10] w5) => (T[N,10] y) {
  a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w1)
  b = Relu(a)
  c = Conv<pads = [1,1,1,1], group = 16>(b, w2)
  d = HardSwish(c)
  e = Conv(d, w3)
  f = MaxPool<kernel_shape = [2,2], strides = [2,2]>(e)
  g = GlobalAveragePool(f)
  h = Flatten(g)
  i = Gemm<transB = 1>(h, w4, w5)
  y = Softmax(i)
}""",
    "attention": """<ir_version: 11, opset_import: ["": 23]>
attention (T[B,S,64] x, T[64] w1, T[64] w2, T[64,192] w3, T[64,64] w4) => (T[B,S,64] y) {
  a = LayerNormalization(x, w1, w2)
  b = MatMul(a, w3)
  q, k, v = Split<axis = -1, num_outputs = 3>(b)
  c = Attention<is_causal = 1, q_num_heads = 4, kv_num_heads = 4>(q, k, v)
  d = MatMul(c, w4)
  e = Add(x, d)
  y = Gelu<approximate = "tanh">(e)
}""",
    "quantized": """<ir_version: 10, opset_import: ["": 19]>
quantized (T[N,8,H,W] x, int8[16,8,3,3] w1, int8[16,5] w2) => (T[N,5] y) {
  s = Constant<value = T {0.05}>()
  z = Constant<value = uint8 {128}>()
  axes = Constant<value_ints = [2,3]>()
  a = QuantizeLinear(x, s, z)
  b = DequantizeLinear(a, s, z)
  c = DequantizeLinear(w1, s)
  d = Conv<pads = [1,1,1,1]>(b, c)
  e = Relu(d)
  f = QuantizeLinear(e, s, z)
  g = DequantizeLinear(f, s, z)
  h = ReduceMean<keepdims = 0>(g, axes)
  i = QuantizeLinear(h, s, z)
  j = DequantizeLinear(i, s, z)
  k = DequantizeLinear(w2, s)
  y = MatMul(j, k)
}""",
}
TYPES = {
    "convolutions": ("float", "float16", "bfloat16", "double"),
    "attention": ("float", "float16", "bfloat16"),
    "quantized": ("float",),
}
LENGTHS = {"N": 2, "B": 2, "S": 9, "H": 18, "W": 21}


def warm_up() -> Case:
    """A model whose kernel no other model is likely to have."""
    import onnx.parser

    text = '<ir_version: 8, opset_import: ["": 17]> g (bool[3] x) => (bool[3] y) { y = Not(x) }'
    feeds = {"x": np.zeros(3, np.bool_)}
    return Case("warm-up", onnx.parser.parse_model(text).SerializeToString(), lambda: feeds)


def typed_networks() -> Iterator[Case]:
    """Small networks of dynamic shape in several element types."""
    import onnx.parser

    for name, text in NETWORKS.items():
        for element in TYPES[name]:
            model = onnx.parser.parse_model(re.sub(r"\bT\b", element, text))
            values = {port.name: random_values(port.type.tensor_type) for port in model.graph.input}
            feeds = {"x": values.pop("x")}
            tensors = [onnx.numpy_helper.from_array(value, name) for name, value in values.items()]
            model.graph.initializer.extend(tensors)
            del model.graph.input[1:]
            yield Case(f"typed/{name}_{element}", model.SerializeToString(), partial(dict, feeds))


def random_values(tensor: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Seeded values of an onnx.TypeProto.Tensor: small integers, or floats around 0."""
    import onnx.helper

    shape = [LENGTHS[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    draw = np.random.default_rng(SEED)
    if dtype.kind in "iu":
        return draw.integers(-20, 20, shape).astype(dtype)
    return (draw.standard_normal(shape) / 4).astype(dtype)
