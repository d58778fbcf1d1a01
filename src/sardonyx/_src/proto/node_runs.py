"""Decoding of consecutive nodes: a large graph is mostly short nodes with the fields that exporters write.

A node is plain if it begins with inputs, outputs, a name, an operator and attributes, in this order, in ASCII and with
lengths of one byte.  Plain nodes are decoded in one loop without a dispatch on tags; all others, and everything
malformed, by the general decoder.  Attributes with equal bytes are decoded once and then copied from a template.

In these functions, b is a buffer, p a position in it and e the end of the message that is decoded.
"""

from __future__ import annotations

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.runs import (
    BLOCK,
    MAX_TEMPLATE_BYTES,
    MAX_TEMPLATES,
    NODES_OF_GRAPH,
    SHORT_NODES_SHARE,
    check_sizes,
    skip_run,
)
from sardonyx._src.proto.wire import AttributeTemplate, Buffer, DecodeContext, Decoder, varint

# Types of the values that copies of an attribute may share.
IMMUTABLE_TYPES = frozenset((str, int, float, bytes))

new = object.__new__


def decode_nodes(
    b: Buffer,
    p: int,
    e: int,
    context: DecodeContext,
    tag: int,
    nodes: list[m.NodeProto],
    decode_node: Decoder[m.NodeProto],
    decode_attribute: Decoder[m.AttributeProto],
) -> int:
    """Appends the nodes of the fields with this tag from p on, and returns the end of the last one.

    A field that is longer than a block or runs past e is left to the caller, and so are all fields if the data are so long
    that records must be counted.
    """
    if not context.uncounted:
        return p
    if tag == NODES_OF_GRAPH and (q := skip_run(b, p, e, context, tag, nodes)) > p:
        return q
    depth, start, before = context.depth, p, len(nodes)
    while p < e and b[p] == tag:
        check_sizes(len(nodes) - before, p - start, context.limits.records // SHORT_NODES_SHARE)
        block = b[p : min(e, p + BLOCK)]
        context.base += p
        size = decode_block(block, context, tag, nodes, decode_node, decode_attribute)
        context.base -= p
        context.depth = depth  # changed if decoding ended inside a node, which is left to the caller
        if not size:
            break
        p += size
    return p


def decode_block(
    b: bytes,
    context: DecodeContext,
    tag: int,
    nodes: list[m.NodeProto],
    decode_node: Decoder[m.NodeProto],
    decode_attribute: Decoder[m.AttributeProto],
) -> int:
    """Appends the nodes at the beginning of a block, and returns the end of the last complete field.

    p: start of the field of a node; begin, end: range of its value, the node r.
    k: start of a field of the node; n: length of a value; s, q: its start and end.
    Tags of a node's fields: 10 input, 18 output, 26 name, 34 op_type, 42 attribute.
    """
    p, size = 0, len(b)
    text = b.decode("latin-1")
    is_ascii = text.isascii()
    templates = context.attributes
    node_class, attribute_class = m.NodeProto, m.AttributeProto
    try:
        while p < size and b[p] == tag:
            n, k = b[p + 1], p + 2
            if n > 127:
                n, k = varint(b, p + 1)
            begin, end = k, k + n
            if end > size:
                break
            r = new(node_class)
            if k < end and b[k] == 10:
                inputs: list[str] = []
                while k < end and b[k] == 10:
                    s = k + 2
                    k = s + b[k + 1]
                    inputs.append(text[s:k])
                r.input = inputs
            if k < end and b[k] == 18:
                outputs: list[str] = []
                while k < end and b[k] == 18:
                    s = k + 2
                    k = s + b[k + 1]
                    outputs.append(text[s:k])
                r.output = outputs
            if k < end and b[k] == 26:
                s = k + 2
                k = s + b[k + 1]
                r.name = text[s:k]
            if k < end and b[k] == 34:
                s = k + 2
                k = s + b[k + 1]
                r.op_type = text[s:k]
            # Also refuses lengths of more than one byte: the first byte of such a length is not ASCII.
            if k > end or not (is_ascii or text[begin:k].isascii()):
                nodes.append(decode_node(b, begin, end, context))
                p = end
                continue
            if k < end and b[k] == 42:
                attributes: list[m.AttributeProto] = []
                while k < end and b[k] == 42:
                    n, s = b[k + 1], k + 2
                    if n > 127:
                        n, s = varint(b, k + 1)
                    q = s + n
                    if q > end:
                        break  # the general decoder reports it
                    value = b[s:q]
                    template = templates.get(value)
                    if template is not None:
                        a = new(attribute_class)
                        a.__dict__ = fields = template[0].copy()
                        for name in template[1]:
                            fields[name] = fields[name].copy()
                    else:
                        a = decode_attribute(b, s, q, context)
                        if n < MAX_TEMPLATE_BYTES and len(templates) < MAX_TEMPLATES:
                            add_template(templates, value, a)
                    attributes.append(a)
                    k = q
                if attributes:
                    r.attribute = attributes
            if k < end:
                rest = decode_node(b, k, end, context)
                if rest.__dict__.keys().isdisjoint(r.__dict__):
                    r.__dict__.update(rest.__dict__)
                else:
                    r = decode_node(b, begin, end, context)
            nodes.append(r)
            p = end
    except IndexError:  # the block ends inside a field
        pass
    return p


def add_template(templates: dict[bytes, AttributeTemplate], data: bytes, attribute: m.AttributeProto) -> None:
    """Keeps the fields of an attribute as the template for its encoding, unless a value is another record."""
    fields = attribute.__dict__.copy()
    lists = tuple(name for name, value in fields.items() if type(value) is list)
    for name in lists:
        fields[name] = fields[name].copy()
    values = [value for name, value in fields.items() if name not in lists]
    values += [item for name in lists for item in fields[name]]
    if IMMUTABLE_TYPES.issuperset(map(type, values)):
        templates[data] = fields, lists
