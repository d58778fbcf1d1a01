"""The models of `bench/viewing.py`: shared ones, the networks of the onnx wheel, a BERT, and long transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import networks
from measure import FOLDER
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

SHARED = FOLDER.parent.parent / "shared" / "models"
BERT_LAYERS = 12
BERT_SIZE = 64  # of the hidden states: 768 in BERT base, whose weights Netron would read for minutes
LAYER = (
    ("MatMul", "{0} w", "q"), ("MatMul", "{0} w", "k"), ("MatMul", "{0} w", "v"), ("Transpose", "k", "t"), ("MatMul", "q t", "s"), ("Softmax", "s", "p"),
    ("MatMul", "p v", "o"), ("Add", "o {0}", "r"), ("MatMul", "r w", "u"), ("Relu", "u", "a"), ("MatMul", "a w", "d"), ("Add", "d r", "y"),
)  # fmt: skip


def models(folder: Path) -> dict[str, Callable[[], Path]]:
    """The models by name, each as a function that returns its file; those that no file holds are written into the folder."""
    result: dict[str, Callable[[], Path]] = {}
    for path in sorted(SHARED.glob("*/model.onnx")):
        result[path.parent.name] = lambda path=path: path  # type: ignore[misc]
    for path in networks.paths():
        result[path.stem] = lambda path=path: path  # type: ignore[misc]
    result["bert"] = lambda: write(folder / "bert.onnx", bert())
    for nodes in (5_000, 10_000, 100_000):
        name = f"layers_{nodes}"
        result[name] = lambda name=name, nodes=nodes: write(folder / f"{name}.onnx", transformer(nodes))  # type: ignore[misc]
    return result


def write(path: Path, model: m.ModelProto) -> Path:
    path.write_bytes(encode(model))
    return path


def transformer(nodes: int) -> m.ModelProto:
    """Layers of 12 nodes each, with names as exporters of PyTorch write them."""
    result: list[m.NodeProto] = []
    last = "x"
    for layer in range(nodes // len(LAYER)):
        for operator, inputs, output in LAYER:
            names = [n if n in ("w", last) else f"{n}_{layer}" for n in inputs.format(last).split()]
            name = f"/model/layers.{layer}/{output}/{operator}"
            result.append(m.NodeProto(op_type=operator, name=name, input=names, output=[f"{output}_{layer}"]))
        last = f"y_{layer}"
    graph = m.GraphProto(
        name="layers",
        node=result,
        input=[value_info("x", 1, 8, 8)],
        output=[value_info(last, 1, 8, 8)],
        initializer=[weight("w", 8, 8)],
    )
    return model_of(graph)


class BertWriter:
    """Nodes and weights of BERT base, as PyTorch exports them for operator set 14."""

    def __init__(self) -> None:
        self.nodes: list[m.NodeProto] = []
        self.weights: list[m.TensorProto] = []

    def add(self, scope: str, operator: str, *inputs: str, **attributes: Iterable[int] | int) -> str:
        """Adds a node, and returns its output."""
        name = f"{scope}/{operator}"
        taken = sum(node.name == name or node.name.startswith(f"{name}_") for node in self.nodes[-60:])
        name += f"_{taken}" if taken else ""
        records = [
            m.AttributeProto(name=key, type=2, i=value)
            if isinstance(value, int)
            else m.AttributeProto(name=key, type=7, ints=[*value])
            for key, value in attributes.items()
        ]
        node = m.NodeProto(op_type=operator, name=name, input=[*inputs], output=[f"{name}_output_0"])
        if records:
            node.attribute = records
        self.nodes.append(node)
        return node.output[0]

    def weight(self, name: str, *dims: int) -> str:
        self.weights.append(weight(name, *dims))
        return name

    def constant(self, name: str, *values: int) -> str:
        self.weights.append(m.TensorProto(name=name, data_type=7, dims=[len(values)], int64_data=[*values]))
        return name

    def scalar(self, name: str, value: float) -> str:
        self.weights.append(m.TensorProto(name=name, data_type=1, float_data=[value]))
        return name

    def linear(self, scope: str, x: str, rows: int, columns: int) -> str:
        name = scope.removeprefix("/").replace("/", ".")
        product = self.add(scope, "MatMul", x, self.weight(f"{name}.weight", rows, columns))
        return self.add(scope, "Add", self.weight(f"{name}.bias", columns), product)

    def norm(self, scope: str, x: str) -> str:
        name = scope.removeprefix("/").replace("/", ".")
        mean = self.add(scope, "ReduceMean", x, axes=[-1])
        centered = self.add(scope, "Sub", x, mean)
        square = self.add(scope, "Pow", centered, self.scalar(f"{name}.two", 2.0))
        variance = self.add(scope, "ReduceMean", square, axes=[-1])
        shifted = self.add(scope, "Add", variance, self.scalar(f"{name}.epsilon", 1e-12))
        scaled = self.add(scope, "Div", centered, self.add(scope, "Sqrt", shifted))
        product = self.add(scope, "Mul", scaled, self.weight(f"{name}.weight", BERT_SIZE))
        return self.add(scope, "Add", product, self.weight(f"{name}.bias", BERT_SIZE))

    def heads(self, scope: str, part: str, x: str, order: Iterable[int]) -> str:
        """A projection of the attention, divided into heads."""
        projected = self.linear(f"{scope}/{part}", x, BERT_SIZE, BERT_SIZE)
        shape = self.constant(f"{scope}/{part}.shape", 0, -1, 4, BERT_SIZE // 4)
        return self.add(scope, "Transpose", self.add(scope, "Reshape", projected, shape), perm=order)

    def layer(self, scope: str, x: str, mask: str) -> str:
        attention = f"{scope}/attention/self"
        query = self.heads(attention, "query", x, (0, 2, 1, 3))
        key = self.heads(attention, "key", x, (0, 2, 3, 1))
        value = self.heads(attention, "value", x, (0, 2, 1, 3))
        scores = self.add(attention, "MatMul", query, key)
        scaled = self.add(attention, "Div", scores, self.scalar(f"{attention}.scale", 4.0))
        shares = self.add(attention, "Softmax", self.add(attention, "Add", scaled, mask), axis=-1)
        mixed = self.add(
            attention, "Transpose", self.add(attention, "MatMul", shares, value), perm=(0, 2, 1, 3)
        )
        joined = self.add(attention, "Reshape", mixed, self.constant(f"{attention}.joined", 0, -1, BERT_SIZE))
        output = f"{scope}/attention/output"
        summed = self.add(output, "Add", self.linear(f"{output}/dense", joined, BERT_SIZE, BERT_SIZE), x)
        attended = self.norm(f"{output}/LayerNorm", summed)
        wide = self.gelu(
            f"{scope}/intermediate",
            self.linear(f"{scope}/intermediate/dense", attended, BERT_SIZE, 4 * BERT_SIZE),
        )
        narrow = self.linear(f"{scope}/output/dense", wide, 4 * BERT_SIZE, BERT_SIZE)
        return self.norm(f"{scope}/output/LayerNorm", self.add(f"{scope}/output", "Add", narrow, attended))

    def gelu(self, scope: str, x: str) -> str:
        scope += "/intermediate_act_fn"
        error = self.add(scope, "Erf", self.add(scope, "Div", x, self.scalar(f"{scope}.root", 1.4142135)))
        factor = self.add(scope, "Add", error, self.scalar(f"{scope}.unit", 1.0))
        product = self.add(scope, "Mul", x, factor)
        return self.add(scope, "Mul", product, self.scalar(f"{scope}.half", 0.5))


def bert() -> m.ModelProto:
    """BERT base with small weights: embeddings, twelve layers, pooler."""
    writer = BertWriter()
    words = writer.add(
        "/embeddings/word_embeddings", "Gather", writer.weight("words", 1000, BERT_SIZE), "input_ids"
    )
    kinds = writer.add(
        "/embeddings/token_type_embeddings", "Gather", writer.weight("kinds", 2, BERT_SIZE), "token_type_ids"
    )
    both = writer.add("/embeddings", "Add", words, kinds)
    placed = writer.add("/embeddings", "Add", both, writer.weight("positions", 128, BERT_SIZE))
    x = writer.norm("/embeddings/LayerNorm", placed)
    long = writer.add("", "Unsqueeze", "attention_mask", writer.constant("axes", 1, 2))
    visible = writer.add("", "Sub", writer.scalar("unit", 1.0), writer.add("", "Cast", long, to=1))
    mask = writer.add("", "Mul", visible, writer.scalar("lowest", -3.4e38))
    for layer in range(BERT_LAYERS):
        x = writer.layer(f"/encoder/layer.{layer}", x, mask)
    first = writer.add("/pooler", "Gather", x, writer.constant("first", 0), axis=1)
    pooled = writer.add(
        "/pooler/activation", "Tanh", writer.linear("/pooler/dense", first, BERT_SIZE, BERT_SIZE)
    )
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = m.GraphProto(
        name="bert",
        node=writer.nodes,
        input=[value_info(name, 7, 1, 128) for name in names],
        output=[value_info(x, 1, 1, 128, BERT_SIZE), value_info(pooled, 1, 1, 1, BERT_SIZE)],
        initializer=writer.weights,
    )
    return model_of(graph, 14)


def model_of(graph: m.GraphProto, opset: int = 21) -> m.ModelProto:
    imports = [m.OperatorSetIdProto(domain="", version=opset)]
    return m.ModelProto(ir_version=10, graph=graph, opset_import=imports)


def weight(name: str, *dims: int) -> m.TensorProto:
    """A tensor of ones."""
    return m.TensorProto(name=name, data_type=1, dims=[*dims], raw_data=np.ones(dims, np.float32).tobytes())


def value_info(name: str, element: int, *dims: int) -> m.ValueInfoProto:
    shape = m.TensorShapeProto(dim=[m.TensorShapeProtoDimension(dim_value=dim) for dim in dims])
    tensor = m.TypeProtoTensor(elem_type=element, shape=shape)
    return m.ValueInfoProto(name=name, type=m.TypeProto(tensor_type=tensor))
