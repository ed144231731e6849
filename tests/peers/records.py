# TFRecords of tf.train.Example, read and written without TensorFlow, for what compares our records' scores.
import struct

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    TABLE.append(i)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message whose fields are all length-delimited or varints."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def decode(example):
    """The features by name: lists of whole numbers, or of floats."""
    features = {}
    for _, entry in fields(dict(fields(example))[1]):
        entry = dict(fields(entry))
        (kind, values), = fields(entry[2])
        packed = dict(fields(values)).get(1, b"")
        if kind == 2:
            features[entry[1].decode()] = list(struct.unpack(f"<{len(packed) // 4}f", packed))
            continue
        numbers, at = [], 0
        while at < len(packed):
            number, at = read_varint(packed, at)
            numbers.append(number)
        features[entry[1].decode()] = numbers
    return features


def encode(features):
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], float):
            value = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            value = field(3, field(1, b"".join(map(varint, values))))
        entries += field(1, field(1, name.encode()) + field(2, value))
    return field(1, entries)


def read_records(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc32c(data[at:at + 8]), (path, at)
        yield decode(data[at + 12:at + 12 + length])
        at += 16 + length


def write_records(path, records):
    with open(path, "wb") as file:
        for record in map(encode, records):
            length = struct.pack("<Q", len(record))
            file.write(length + struct.pack("<I", masked_crc32c(length)) + record + struct.pack("<I", masked_crc32c(record)))
