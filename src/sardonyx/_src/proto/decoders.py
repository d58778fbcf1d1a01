"""Decoders of the binary form, one function a message, written out field by field.

b: bytes or a memory map; p, e: where the message starts and ends in it; c: what outlives one message.
Inside, t is a tag, n a length, v a number, q the end of a value; direct: whether a message can be decoded
without anything being done around it.
"""

# Written by tools/make_records.py from onnx.proto: change that text, then `make regen`.

from __future__ import annotations

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Numbers, Record, extended, joined, merged
from sardonyx._src.proto.wire import Buffer, Context, Decoder, WireError, chunk, f32, f64, long_tag, packed_f32
from sardonyx._src.proto.wire import packed_f64, packed_varints, payload, skip, to_int32, too_long, varint

new = object.__new__


def decode_attribute_proto(b: Buffer, p: int, e: int, c: Context) -> m.AttributeProto:
    r = new(m.AttributeProto)
    direct = c.uncounted and type(b) is bytes
    floats_: list[float] | None = None
    ints_: list[int] | None = None
    strings_: list[bytes | memoryview] | None = None
    tensors_: list[m.TensorProto] | None = None
    graphs_: list[m.GraphProto] | None = None
    type_protos_: list[m.TypeProto] | None = None
    sparse_tensors_: list[m.SparseTensorProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 21:
            if p + 4 > e:
                raise too_long(start, p, p + 4, e)
            r.f = f32(b, p)[0]
            p += 4
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.i = v
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.s = payload(b, p, q, c)
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            t_x = decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)
            r.t = t_x if r.t is None else merged(r.t, t_x)
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            g_x = decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c)
            r.g = g_x if r.g is None else merged(r.g, g_x)
            p = q
        elif t == 61:
            if p + 4 > e:
                raise too_long(start, p, p + 4, e)
            if floats_ is None:
                r.floats = floats_ = [f32(b, p)[0]]
            else:
                floats_.append(f32(b, p)[0])
            p += 4
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.floats = floats_ = extended(floats_, packed_f32(b, p, q, c))
            p = q
        elif t == 64:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if ints_ is None:
                r.ints = ints_ = [v]
            else:
                ints_.append(v)
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.ints = ints_ = extended(ints_, packed_varints(b, p, q, "int64"))
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if strings_ is None:
                r.strings = strings_ = [payload(b, p, q, c)]
            else:
                strings_.append(payload(b, p, q, c))
            p = q
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if tensors_ is None:
                r.tensors = tensors_ = [decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)]
            else:
                tensors_.append(decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c))
            p = q
        elif t == 90:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if graphs_ is None:
                r.graphs = graphs_ = [decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c)]
            else:
                graphs_.append(decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c))
            p = q
        elif t == 106:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 114:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            tp_x = decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)
            r.tp = tp_x if r.tp is None else merged(r.tp, tp_x)
            p = q
        elif t == 122:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if type_protos_ is None:
                r.type_protos = type_protos_ = [decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)]
            else:
                type_protos_.append(decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c))
            p = q
        elif t == 160:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.type = v
        elif t == 170:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.ref_attr_name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 178:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            sparse_tensor_x = decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c)
            r.sparse_tensor = sparse_tensor_x if r.sparse_tensor is None else merged(r.sparse_tensor, sparse_tensor_x)
            p = q
        elif t == 186:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sparse_tensors_ is None:
                r.sparse_tensors = sparse_tensors_ = [decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c)]
            else:
                sparse_tensors_.append(decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_value_info_proto(b: Buffer, p: int, e: int, c: Context) -> m.ValueInfoProto:
    r = new(m.ValueInfoProto)
    direct = c.uncounted and type(b) is bytes
    metadata_props_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            type_x = decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)
            r.type = type_x if r.type is None else merged(r.type, type_x)
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_node_proto(b: Buffer, p: int, e: int, c: Context) -> m.NodeProto:
    r = new(m.NodeProto)
    direct = c.uncounted and type(b) is bytes
    input_: list[str] | None = None
    output_: list[str] | None = None
    attribute_: list[m.AttributeProto] | None = None
    metadata_props_: list[m.StringStringEntryProto] | None = None
    device_configurations_: list[m.NodeDeviceConfigurationProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if input_ is None:
                r.input = input_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                input_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if output_ is None:
                r.output = output_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                output_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.op_type = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if attribute_ is None:
                r.attribute = attribute_ = [decode_attribute_proto(b, p, q, c) if direct else chunk(decode_attribute_proto, b, p, q, c)]
            else:
                attribute_.append(decode_attribute_proto(b, p, q, c) if direct else chunk(decode_attribute_proto, b, p, q, c))
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.overload = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if device_configurations_ is None:
                r.device_configurations = device_configurations_ = [decode_node_device_configuration_proto(b, p, q, c) if direct else chunk(decode_node_device_configuration_proto, b, p, q, c)]
            else:
                device_configurations_.append(decode_node_device_configuration_proto(b, p, q, c) if direct else chunk(decode_node_device_configuration_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_int_int_list_entry_proto(b: Buffer, p: int, e: int, c: Context) -> m.IntIntListEntryProto:
    r = new(m.IntIntListEntryProto)
    value_: list[int] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.key = v
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if value_ is None:
                r.value = value_ = [v]
            else:
                value_.append(v)
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.value = value_ = extended(value_, packed_varints(b, p, q, "int64"))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_node_device_configuration_proto(b: Buffer, p: int, e: int, c: Context) -> m.NodeDeviceConfigurationProto:
    r = new(m.NodeDeviceConfigurationProto)
    direct = c.uncounted and type(b) is bytes
    sharding_spec_: list[m.ShardingSpecProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.configuration_id = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sharding_spec_ is None:
                r.sharding_spec = sharding_spec_ = [decode_sharding_spec_proto(b, p, q, c) if direct else chunk(decode_sharding_spec_proto, b, p, q, c)]
            else:
                sharding_spec_.append(decode_sharding_spec_proto(b, p, q, c) if direct else chunk(decode_sharding_spec_proto, b, p, q, c))
            p = q
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.pipeline_stage = v
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_sharding_spec_proto(b: Buffer, p: int, e: int, c: Context) -> m.ShardingSpecProto:
    r = new(m.ShardingSpecProto)
    direct = c.uncounted and type(b) is bytes
    device_: list[int] | None = None
    index_to_device_group_map_: list[m.IntIntListEntryProto] | None = None
    sharded_dim_: list[m.ShardedDimProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.tensor_name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if device_ is None:
                r.device = device_ = [v]
            else:
                device_.append(v)
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.device = device_ = extended(device_, packed_varints(b, p, q, "int64"))
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if index_to_device_group_map_ is None:
                r.index_to_device_group_map = index_to_device_group_map_ = [decode_int_int_list_entry_proto(b, p, q, c) if direct else chunk(decode_int_int_list_entry_proto, b, p, q, c)]
            else:
                index_to_device_group_map_.append(decode_int_int_list_entry_proto(b, p, q, c) if direct else chunk(decode_int_int_list_entry_proto, b, p, q, c))
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sharded_dim_ is None:
                r.sharded_dim = sharded_dim_ = [decode_sharded_dim_proto(b, p, q, c) if direct else chunk(decode_sharded_dim_proto, b, p, q, c)]
            else:
                sharded_dim_.append(decode_sharded_dim_proto(b, p, q, c) if direct else chunk(decode_sharded_dim_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_sharded_dim_proto(b: Buffer, p: int, e: int, c: Context) -> m.ShardedDimProto:
    r = new(m.ShardedDimProto)
    direct = c.uncounted and type(b) is bytes
    simple_sharding_: list[m.SimpleShardedDimProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.axis = v
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if simple_sharding_ is None:
                r.simple_sharding = simple_sharding_ = [decode_simple_sharded_dim_proto(b, p, q, c) if direct else chunk(decode_simple_sharded_dim_proto, b, p, q, c)]
            else:
                simple_sharding_.append(decode_simple_sharded_dim_proto(b, p, q, c) if direct else chunk(decode_simple_sharded_dim_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_simple_sharded_dim_proto(b: Buffer, p: int, e: int, c: Context) -> m.SimpleShardedDimProto:
    r = new(m.SimpleShardedDimProto)
    dim_set = ''
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.dim_value = v
            if dim_set != 'dim_value':
                if dim_set:
                    r.clear(dim_set)
                dim_set = 'dim_value'
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.dim_param = b[p:q].decode('utf-8', 'surrogateescape')
            if dim_set != 'dim_param':
                if dim_set:
                    r.clear(dim_set)
                dim_set = 'dim_param'
            p = q
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.num_shards = v
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_training_info_proto(b: Buffer, p: int, e: int, c: Context) -> m.TrainingInfoProto:
    r = new(m.TrainingInfoProto)
    direct = c.uncounted and type(b) is bytes
    initialization_binding_: list[m.StringStringEntryProto] | None = None
    update_binding_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            initialization_x = decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c)
            r.initialization = initialization_x if r.initialization is None else merged(r.initialization, initialization_x)
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            algorithm_x = decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c)
            r.algorithm = algorithm_x if r.algorithm is None else merged(r.algorithm, algorithm_x)
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if initialization_binding_ is None:
                r.initialization_binding = initialization_binding_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                initialization_binding_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if update_binding_ is None:
                r.update_binding = update_binding_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                update_binding_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_model_proto(b: Buffer, p: int, e: int, c: Context) -> m.ModelProto:
    r = new(m.ModelProto)
    direct = c.uncounted and type(b) is bytes
    opset_import_: list[m.OperatorSetIdProto] | None = None
    metadata_props_: list[m.StringStringEntryProto] | None = None
    training_info_: list[m.TrainingInfoProto] | None = None
    functions_: list[m.FunctionProto] | None = None
    configuration_: list[m.DeviceConfigurationProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.ir_version = v
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.producer_name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.producer_version = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 40:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.model_version = v
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            graph_x = decode_graph_proto(b, p, q, c) if direct else chunk(decode_graph_proto, b, p, q, c)
            r.graph = graph_x if r.graph is None else merged(r.graph, graph_x)
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if opset_import_ is None:
                r.opset_import = opset_import_ = [decode_operator_set_id_proto(b, p, q, c) if direct else chunk(decode_operator_set_id_proto, b, p, q, c)]
            else:
                opset_import_.append(decode_operator_set_id_proto(b, p, q, c) if direct else chunk(decode_operator_set_id_proto, b, p, q, c))
            p = q
        elif t == 114:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        elif t == 162:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if training_info_ is None:
                r.training_info = training_info_ = [decode_training_info_proto(b, p, q, c) if direct else chunk(decode_training_info_proto, b, p, q, c)]
            else:
                training_info_.append(decode_training_info_proto(b, p, q, c) if direct else chunk(decode_training_info_proto, b, p, q, c))
            p = q
        elif t == 202:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if functions_ is None:
                r.functions = functions_ = [decode_function_proto(b, p, q, c) if direct else chunk(decode_function_proto, b, p, q, c)]
            else:
                functions_.append(decode_function_proto(b, p, q, c) if direct else chunk(decode_function_proto, b, p, q, c))
            p = q
        elif t == 210:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if configuration_ is None:
                r.configuration = configuration_ = [decode_device_configuration_proto(b, p, q, c) if direct else chunk(decode_device_configuration_proto, b, p, q, c)]
            else:
                configuration_.append(decode_device_configuration_proto(b, p, q, c) if direct else chunk(decode_device_configuration_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_device_configuration_proto(b: Buffer, p: int, e: int, c: Context) -> m.DeviceConfigurationProto:
    r = new(m.DeviceConfigurationProto)
    device_: list[str] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.num_devices = v
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if device_ is None:
                r.device = device_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                device_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_string_string_entry_proto(b: Buffer, p: int, e: int, c: Context) -> m.StringStringEntryProto:
    r = new(m.StringStringEntryProto)
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.key = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.value = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_tensor_annotation(b: Buffer, p: int, e: int, c: Context) -> m.TensorAnnotation:
    r = new(m.TensorAnnotation)
    direct = c.uncounted and type(b) is bytes
    quant_parameter_tensor_names_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.tensor_name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if quant_parameter_tensor_names_ is None:
                r.quant_parameter_tensor_names = quant_parameter_tensor_names_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                quant_parameter_tensor_names_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_graph_proto(b: Buffer, p: int, e: int, c: Context) -> m.GraphProto:
    r = new(m.GraphProto)
    c.enter(p)
    direct = c.uncounted and type(b) is bytes
    node_: list[m.NodeProto] | None = None
    initializer_: list[m.TensorProto] | None = None
    input_: list[m.ValueInfoProto] | None = None
    output_: list[m.ValueInfoProto] | None = None
    value_info_: list[m.ValueInfoProto] | None = None
    quantization_annotation_: list[m.TensorAnnotation] | None = None
    sparse_initializer_: list[m.SparseTensorProto] | None = None
    metadata_props_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if node_ is None:
                r.node = node_ = [decode_node_proto(b, p, q, c) if direct else chunk(decode_node_proto, b, p, q, c)]
            else:
                node_.append(decode_node_proto(b, p, q, c) if direct else chunk(decode_node_proto, b, p, q, c))
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if initializer_ is None:
                r.initializer = initializer_ = [decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)]
            else:
                initializer_.append(decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c))
            p = q
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 90:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if input_ is None:
                r.input = input_ = [decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c)]
            else:
                input_.append(decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c))
            p = q
        elif t == 98:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if output_ is None:
                r.output = output_ = [decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c)]
            else:
                output_.append(decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c))
            p = q
        elif t == 106:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if value_info_ is None:
                r.value_info = value_info_ = [decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c)]
            else:
                value_info_.append(decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c))
            p = q
        elif t == 114:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if quantization_annotation_ is None:
                r.quantization_annotation = quantization_annotation_ = [decode_tensor_annotation(b, p, q, c) if direct else chunk(decode_tensor_annotation, b, p, q, c)]
            else:
                quantization_annotation_.append(decode_tensor_annotation(b, p, q, c) if direct else chunk(decode_tensor_annotation, b, p, q, c))
            p = q
        elif t == 122:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sparse_initializer_ is None:
                r.sparse_initializer = sparse_initializer_ = [decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c)]
            else:
                sparse_initializer_.append(decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c))
            p = q
        elif t == 130:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    c.leave()
    return r


def decode_tensor_proto(b: Buffer, p: int, e: int, c: Context) -> m.TensorProto:
    r = new(m.TensorProto)
    direct = c.uncounted and type(b) is bytes
    dims_: list[int] | None = None
    float_data_: Numbers[float] | None = None
    int32_data_: Numbers[int] | None = None
    string_data_: list[bytes | memoryview] | None = None
    int64_data_: Numbers[int] | None = None
    double_data_: Numbers[float] | None = None
    uint64_data_: Numbers[int] | None = None
    external_data_: list[m.StringStringEntryProto] | None = None
    metadata_props_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if dims_ is None:
                r.dims = dims_ = [v]
            else:
                dims_.append(v)
        elif t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.dims = dims_ = extended(dims_, packed_varints(b, p, q, "int64"))
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.data_type = v
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            segment_x = decode_tensor_proto_segment(b, p, q, c) if direct else chunk(decode_tensor_proto_segment, b, p, q, c)
            r.segment = segment_x if r.segment is None else merged(r.segment, segment_x)
            p = q
        elif t == 37:
            if p + 4 > e:
                raise too_long(start, p, p + 4, e)
            r.float_data = float_data_ = joined(float_data_, [f32(b, p)[0]])
            p += 4
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.float_data = float_data_ = joined(float_data_, packed_f32(b, p, q, c))
            p = q
        elif t == 40:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.int32_data = int32_data_ = joined(int32_data_, [v])
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.int32_data = int32_data_ = joined(int32_data_, packed_varints(b, p, q, "int32"))
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if string_data_ is None:
                r.string_data = string_data_ = [payload(b, p, q, c)]
            else:
                string_data_.append(payload(b, p, q, c))
            p = q
        elif t == 56:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.int64_data = int64_data_ = joined(int64_data_, [v])
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.int64_data = int64_data_ = joined(int64_data_, packed_varints(b, p, q, "int64"))
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.raw_data = payload(b, p, q, c)
            p = q
        elif t == 81:
            if p + 8 > e:
                raise too_long(start, p, p + 8, e)
            r.double_data = double_data_ = joined(double_data_, [f64(b, p)[0]])
            p += 8
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.double_data = double_data_ = joined(double_data_, packed_f64(b, p, q, c))
            p = q
        elif t == 88:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
            r.uint64_data = uint64_data_ = joined(uint64_data_, [v])
        elif t == 90:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.uint64_data = uint64_data_ = joined(uint64_data_, packed_varints(b, p, q, "uint64"))
            p = q
        elif t == 98:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 106:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if external_data_ is None:
                r.external_data = external_data_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                external_data_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        elif t == 112:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.data_location = v
        elif t == 130:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_tensor_proto_segment(b: Buffer, p: int, e: int, c: Context) -> m.TensorProtoSegment:
    r = new(m.TensorProtoSegment)
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.begin = v
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.end = v
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_sparse_tensor_proto(b: Buffer, p: int, e: int, c: Context) -> m.SparseTensorProto:
    r = new(m.SparseTensorProto)
    direct = c.uncounted and type(b) is bytes
    dims_: list[int] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            values_x = decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)
            r.values = values_x if r.values is None else merged(r.values, values_x)
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            indices_x = decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)
            r.indices = indices_x if r.indices is None else merged(r.indices, indices_x)
            p = q
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if dims_ is None:
                r.dims = dims_ = [v]
            else:
                dims_.append(v)
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.dims = dims_ = extended(dims_, packed_varints(b, p, q, "int64"))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_tensor_shape_proto(b: Buffer, p: int, e: int, c: Context) -> m.TensorShapeProto:
    r = new(m.TensorShapeProto)
    direct = c.uncounted and type(b) is bytes
    dim_: list[m.TensorShapeProtoDimension] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if dim_ is None:
                r.dim = dim_ = [decode_tensor_shape_proto_dimension(b, p, q, c) if direct else chunk(decode_tensor_shape_proto_dimension, b, p, q, c)]
            else:
                dim_.append(decode_tensor_shape_proto_dimension(b, p, q, c) if direct else chunk(decode_tensor_shape_proto_dimension, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_tensor_shape_proto_dimension(b: Buffer, p: int, e: int, c: Context) -> m.TensorShapeProtoDimension:
    r = new(m.TensorShapeProtoDimension)
    value_set = ''
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.dim_value = v
            if value_set != 'dim_value':
                if value_set:
                    r.clear(value_set)
                value_set = 'dim_value'
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.dim_param = b[p:q].decode('utf-8', 'surrogateescape')
            if value_set != 'dim_param':
                if value_set:
                    r.clear(value_set)
                value_set = 'dim_param'
            p = q
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.denotation = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto(b: Buffer, p: int, e: int, c: Context) -> m.TypeProto:
    r = new(m.TypeProto)
    c.enter(p)
    direct = c.uncounted and type(b) is bytes
    value_set = ''
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            tensor_type_x = decode_type_proto_tensor(b, p, q, c) if direct else chunk(decode_type_proto_tensor, b, p, q, c)
            r.tensor_type = tensor_type_x if r.tensor_type is None else merged(r.tensor_type, tensor_type_x)
            if value_set != 'tensor_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'tensor_type'
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            sequence_type_x = decode_type_proto_sequence(b, p, q, c) if direct else chunk(decode_type_proto_sequence, b, p, q, c)
            r.sequence_type = sequence_type_x if r.sequence_type is None else merged(r.sequence_type, sequence_type_x)
            if value_set != 'sequence_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'sequence_type'
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            map_type_x = decode_type_proto_map(b, p, q, c) if direct else chunk(decode_type_proto_map, b, p, q, c)
            r.map_type = map_type_x if r.map_type is None else merged(r.map_type, map_type_x)
            if value_set != 'map_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'map_type'
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.denotation = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            opaque_type_x = decode_type_proto_opaque(b, p, q, c) if direct else chunk(decode_type_proto_opaque, b, p, q, c)
            r.opaque_type = opaque_type_x if r.opaque_type is None else merged(r.opaque_type, opaque_type_x)
            if value_set != 'opaque_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'opaque_type'
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            sparse_tensor_type_x = decode_type_proto_sparse_tensor(b, p, q, c) if direct else chunk(decode_type_proto_sparse_tensor, b, p, q, c)
            r.sparse_tensor_type = sparse_tensor_type_x if r.sparse_tensor_type is None else merged(r.sparse_tensor_type, sparse_tensor_type_x)
            if value_set != 'sparse_tensor_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'sparse_tensor_type'
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            optional_type_x = decode_type_proto_optional(b, p, q, c) if direct else chunk(decode_type_proto_optional, b, p, q, c)
            r.optional_type = optional_type_x if r.optional_type is None else merged(r.optional_type, optional_type_x)
            if value_set != 'optional_type':
                if value_set:
                    r.clear(value_set)
                value_set = 'optional_type'
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    c.leave()
    return r


def decode_type_proto_tensor(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoTensor:
    r = new(m.TypeProtoTensor)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.elem_type = v
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            shape_x = decode_tensor_shape_proto(b, p, q, c) if direct else chunk(decode_tensor_shape_proto, b, p, q, c)
            r.shape = shape_x if r.shape is None else merged(r.shape, shape_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto_sequence(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoSequence:
    r = new(m.TypeProtoSequence)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            elem_type_x = decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)
            r.elem_type = elem_type_x if r.elem_type is None else merged(r.elem_type, elem_type_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto_map(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoMap:
    r = new(m.TypeProtoMap)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.key_type = v
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            value_type_x = decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)
            r.value_type = value_type_x if r.value_type is None else merged(r.value_type, value_type_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto_optional(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoOptional:
    r = new(m.TypeProtoOptional)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            elem_type_x = decode_type_proto(b, p, q, c) if direct else chunk(decode_type_proto, b, p, q, c)
            r.elem_type = elem_type_x if r.elem_type is None else merged(r.elem_type, elem_type_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto_sparse_tensor(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoSparseTensor:
    r = new(m.TypeProtoSparseTensor)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 8:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.elem_type = v
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            shape_x = decode_tensor_shape_proto(b, p, q, c) if direct else chunk(decode_tensor_shape_proto, b, p, q, c)
            r.shape = shape_x if r.shape is None else merged(r.shape, shape_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_type_proto_opaque(b: Buffer, p: int, e: int, c: Context) -> m.TypeProtoOpaque:
    r = new(m.TypeProtoOpaque)
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 18:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_operator_set_id_proto(b: Buffer, p: int, e: int, c: Context) -> m.OperatorSetIdProto:
    r = new(m.OperatorSetIdProto)
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.version = v
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_function_proto(b: Buffer, p: int, e: int, c: Context) -> m.FunctionProto:
    r = new(m.FunctionProto)
    direct = c.uncounted and type(b) is bytes
    input_: list[str] | None = None
    output_: list[str] | None = None
    attribute_: list[str] | None = None
    node_: list[m.NodeProto] | None = None
    opset_import_: list[m.OperatorSetIdProto] | None = None
    attribute_proto_: list[m.AttributeProto] | None = None
    value_info_: list[m.ValueInfoProto] | None = None
    metadata_props_: list[m.StringStringEntryProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if input_ is None:
                r.input = input_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                input_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if output_ is None:
                r.output = output_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                output_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if attribute_ is None:
                r.attribute = attribute_ = [b[p:q].decode('utf-8', 'surrogateescape')]
            else:
                attribute_.append(b[p:q].decode('utf-8', 'surrogateescape'))
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if node_ is None:
                r.node = node_ = [decode_node_proto(b, p, q, c) if direct else chunk(decode_node_proto, b, p, q, c)]
            else:
                node_.append(decode_node_proto(b, p, q, c) if direct else chunk(decode_node_proto, b, p, q, c))
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if opset_import_ is None:
                r.opset_import = opset_import_ = [decode_operator_set_id_proto(b, p, q, c) if direct else chunk(decode_operator_set_id_proto, b, p, q, c)]
            else:
                opset_import_.append(decode_operator_set_id_proto(b, p, q, c) if direct else chunk(decode_operator_set_id_proto, b, p, q, c))
            p = q
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 90:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if attribute_proto_ is None:
                r.attribute_proto = attribute_proto_ = [decode_attribute_proto(b, p, q, c) if direct else chunk(decode_attribute_proto, b, p, q, c)]
            else:
                attribute_proto_.append(decode_attribute_proto(b, p, q, c) if direct else chunk(decode_attribute_proto, b, p, q, c))
            p = q
        elif t == 98:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if value_info_ is None:
                r.value_info = value_info_ = [decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c)]
            else:
                value_info_.append(decode_value_info_proto(b, p, q, c) if direct else chunk(decode_value_info_proto, b, p, q, c))
            p = q
        elif t == 106:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.overload = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 114:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if metadata_props_ is None:
                r.metadata_props = metadata_props_ = [decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c)]
            else:
                metadata_props_.append(decode_string_string_entry_proto(b, p, q, c) if direct else chunk(decode_string_string_entry_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_operator_proto(b: Buffer, p: int, e: int, c: Context) -> m.OperatorProto:
    r = new(m.OperatorProto)
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.op_type = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.since_version = v
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.status = v
        elif t == 82:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_operator_set_proto(b: Buffer, p: int, e: int, c: Context) -> m.OperatorSetProto:
    r = new(m.OperatorSetProto)
    direct = c.uncounted and type(b) is bytes
    operator_: list[m.OperatorProto] | None = None
    functions_: list[m.FunctionProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.magic = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.ir_version = v
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.ir_version_prerelease = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.domain = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 40:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            r.opset_version = v
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.doc_string = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.ir_build_metadata = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 66:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if operator_ is None:
                r.operator = operator_ = [decode_operator_proto(b, p, q, c) if direct else chunk(decode_operator_proto, b, p, q, c)]
            else:
                operator_.append(decode_operator_proto(b, p, q, c) if direct else chunk(decode_operator_proto, b, p, q, c))
            p = q
        elif t == 74:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if functions_ is None:
                r.functions = functions_ = [decode_function_proto(b, p, q, c) if direct else chunk(decode_function_proto, b, p, q, c)]
            else:
                functions_.append(decode_function_proto(b, p, q, c) if direct else chunk(decode_function_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    return r


def decode_sequence_proto(b: Buffer, p: int, e: int, c: Context) -> m.SequenceProto:
    r = new(m.SequenceProto)
    c.enter(p)
    direct = c.uncounted and type(b) is bytes
    tensor_values_: list[m.TensorProto] | None = None
    sparse_tensor_values_: list[m.SparseTensorProto] | None = None
    sequence_values_: list[m.SequenceProto] | None = None
    map_values_: list[m.MapProto] | None = None
    optional_values_: list[m.OptionalProto] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.elem_type = v
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if tensor_values_ is None:
                r.tensor_values = tensor_values_ = [decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)]
            else:
                tensor_values_.append(decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c))
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sparse_tensor_values_ is None:
                r.sparse_tensor_values = sparse_tensor_values_ = [decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c)]
            else:
                sparse_tensor_values_.append(decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c))
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if sequence_values_ is None:
                r.sequence_values = sequence_values_ = [decode_sequence_proto(b, p, q, c) if direct else chunk(decode_sequence_proto, b, p, q, c)]
            else:
                sequence_values_.append(decode_sequence_proto(b, p, q, c) if direct else chunk(decode_sequence_proto, b, p, q, c))
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if map_values_ is None:
                r.map_values = map_values_ = [decode_map_proto(b, p, q, c) if direct else chunk(decode_map_proto, b, p, q, c)]
            else:
                map_values_.append(decode_map_proto(b, p, q, c) if direct else chunk(decode_map_proto, b, p, q, c))
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if optional_values_ is None:
                r.optional_values = optional_values_ = [decode_optional_proto(b, p, q, c) if direct else chunk(decode_optional_proto, b, p, q, c)]
            else:
                optional_values_.append(decode_optional_proto(b, p, q, c) if direct else chunk(decode_optional_proto, b, p, q, c))
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    c.leave()
    return r


def decode_map_proto(b: Buffer, p: int, e: int, c: Context) -> m.MapProto:
    r = new(m.MapProto)
    c.enter(p)
    direct = c.uncounted and type(b) is bytes
    keys_: list[int] | None = None
    string_keys_: list[bytes | memoryview] | None = None
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.key_type = v
        elif t == 24:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                if v > 0x7FFFFFFFFFFFFFFF:
                    v -= 0x10000000000000000
            if keys_ is None:
                r.keys = keys_ = [v]
            else:
                keys_.append(v)
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.keys = keys_ = extended(keys_, packed_varints(b, p, q, "int64"))
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            if string_keys_ is None:
                r.string_keys = string_keys_ = [payload(b, p, q, c)]
            else:
                string_keys_.append(payload(b, p, q, c))
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            values_x = decode_sequence_proto(b, p, q, c) if direct else chunk(decode_sequence_proto, b, p, q, c)
            r.values = values_x if r.values is None else merged(r.values, values_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    c.leave()
    return r


def decode_optional_proto(b: Buffer, p: int, e: int, c: Context) -> m.OptionalProto:
    r = new(m.OptionalProto)
    c.enter(p)
    direct = c.uncounted and type(b) is bytes
    start = p
    while p < e:
        start = p
        t = b[p]
        p += 1
        if t > 127:
            t, p = long_tag(b, p - 1)
        if t == 10:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            r.name = b[p:q].decode('utf-8', 'surrogateescape')
            p = q
        elif t == 16:
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
                v = to_int32(v)
            r.elem_type = v
        elif t == 26:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            tensor_value_x = decode_tensor_proto(b, p, q, c) if direct else chunk(decode_tensor_proto, b, p, q, c)
            r.tensor_value = tensor_value_x if r.tensor_value is None else merged(r.tensor_value, tensor_value_x)
            p = q
        elif t == 34:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            sparse_tensor_value_x = decode_sparse_tensor_proto(b, p, q, c) if direct else chunk(decode_sparse_tensor_proto, b, p, q, c)
            r.sparse_tensor_value = sparse_tensor_value_x if r.sparse_tensor_value is None else merged(r.sparse_tensor_value, sparse_tensor_value_x)
            p = q
        elif t == 42:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            sequence_value_x = decode_sequence_proto(b, p, q, c) if direct else chunk(decode_sequence_proto, b, p, q, c)
            r.sequence_value = sequence_value_x if r.sequence_value is None else merged(r.sequence_value, sequence_value_x)
            p = q
        elif t == 50:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            map_value_x = decode_map_proto(b, p, q, c) if direct else chunk(decode_map_proto, b, p, q, c)
            r.map_value = map_value_x if r.map_value is None else merged(r.map_value, map_value_x)
            p = q
        elif t == 58:
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
            optional_value_x = decode_optional_proto(b, p, q, c) if direct else chunk(decode_optional_proto, b, p, q, c)
            r.optional_value = optional_value_x if r.optional_value is None else merged(r.optional_value, optional_value_x)
            p = q
        else:
            p = skip(b, p, e, t, start)
            r.keep(payload(b, start, p, c))
    if p != e:
        raise WireError("a field runs past the end of its message", start)
    c.leave()
    return r


DECODERS: dict[type[Record], Decoder[Record]] = {
    m.AttributeProto: decode_attribute_proto,
    m.ValueInfoProto: decode_value_info_proto,
    m.NodeProto: decode_node_proto,
    m.IntIntListEntryProto: decode_int_int_list_entry_proto,
    m.NodeDeviceConfigurationProto: decode_node_device_configuration_proto,
    m.ShardingSpecProto: decode_sharding_spec_proto,
    m.ShardedDimProto: decode_sharded_dim_proto,
    m.SimpleShardedDimProto: decode_simple_sharded_dim_proto,
    m.TrainingInfoProto: decode_training_info_proto,
    m.ModelProto: decode_model_proto,
    m.DeviceConfigurationProto: decode_device_configuration_proto,
    m.StringStringEntryProto: decode_string_string_entry_proto,
    m.TensorAnnotation: decode_tensor_annotation,
    m.GraphProto: decode_graph_proto,
    m.TensorProto: decode_tensor_proto,
    m.TensorProtoSegment: decode_tensor_proto_segment,
    m.SparseTensorProto: decode_sparse_tensor_proto,
    m.TensorShapeProto: decode_tensor_shape_proto,
    m.TensorShapeProtoDimension: decode_tensor_shape_proto_dimension,
    m.TypeProto: decode_type_proto,
    m.TypeProtoTensor: decode_type_proto_tensor,
    m.TypeProtoSequence: decode_type_proto_sequence,
    m.TypeProtoMap: decode_type_proto_map,
    m.TypeProtoOptional: decode_type_proto_optional,
    m.TypeProtoSparseTensor: decode_type_proto_sparse_tensor,
    m.TypeProtoOpaque: decode_type_proto_opaque,
    m.OperatorSetIdProto: decode_operator_set_id_proto,
    m.FunctionProto: decode_function_proto,
    m.OperatorProto: decode_operator_proto,
    m.OperatorSetProto: decode_operator_set_proto,
    m.SequenceProto: decode_sequence_proto,
    m.MapProto: decode_map_proto,
    m.OptionalProto: decode_optional_proto,
}
