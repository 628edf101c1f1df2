"""Reads and writes safetensors files: eight bytes of length, a JSON header, then the tensors' bytes without a gap."""

from __future__ import annotations

import json
import os
import struct
from typing import Dict, List, NamedTuple, Tuple

import numpy as np

from .element_types import TYPES

_MAX_HEADER = 100_000_000  # bytes; the limit that the format's own reader sets
# Room that is kept for the header while tensors are written behind it; a file whose header outgrows it is closed.
HEADER_ROOM = 128 * 1024


class StoredTensor(NamedTuple):
    """Where a tensor lies in its file."""

    path: str
    dtype: str  # a capture's name, such as "bf16"
    shape: Tuple[int, ...]
    begin: int  # bytes from the start of the file
    end: int


class ShardWriter:
    """Writes one file tensor by tensor, without knowing beforehand how many there will be."""

    def __init__(self, path: str):
        self.path = path
        self.bytes = 0
        self._entries: List[str] = []
        self._header_bytes = 2
        self._file = open(path, "xb")
        self._file.seek(8 + HEADER_ROOM)

    def fits(self, key: str, name: str, shape, size: int) -> bool:
        """Says whether the header still has room for this tensor."""
        return self._header_bytes + len(self._entry(key, name, shape, size)) + 1 <= HEADER_ROOM

    def add(self, key: str, name: str, shape, data) -> None:
        """Appends a tensor. `data`: its bytes. Raises OSError as the file system does."""
        entry = self._entry(key, name, shape, len(data))
        self._file.write(data)
        self._entries.append(entry)
        self._header_bytes += len(entry.encode()) + 1
        self.bytes += len(data)

    def _entry(self, key, name, shape, size) -> str:
        value = {"dtype": name.upper(), "shape": list(shape), "data_offsets": [self.bytes, self.bytes + size]}
        return "%s:%s" % (json.dumps(key), json.dumps(value, separators=(",", ":")))

    def close(self) -> None:
        """Writes the header in front, padded with spaces as the format allows, and brings the file to the disk."""
        header = ("{" + ",".join(self._entries) + "}").encode()
        self._file.seek(0)
        self._file.write(struct.pack("<Q", HEADER_ROOM) + header.ljust(HEADER_ROOM))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        self._file.close()


def read_header(path: str) -> Dict[str, StoredTensor]:
    """Where each tensor of a file lies. Raises ValueError, one line with the file, for anything that is not whole."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if length < 2 or length > min(_MAX_HEADER, size - 8):
            raise ValueError("%s: the header would have %d bytes in a file of %d" % (path, length, size))
        try:
            header = json.loads(file.read(length).decode("utf-8"))
        except ValueError as error:
            raise ValueError("%s: the header is no JSON: %s" % (path, error)) from None
    if not isinstance(header, dict):
        raise ValueError("%s: the header is no object" % path)
    found = {}
    for key, value in header.items():
        if key == "__metadata__":
            continue
        found[key] = _place(path, key, value, 8 + length, size)
    return found


def _place(path: str, key: str, value, start: int, size: int) -> StoredTensor:
    where = "%s: tensor %s" % (path, json.dumps(key)[:200])
    try:
        name, shape = value["dtype"].lower(), tuple(value["shape"])
        begin, end = value["data_offsets"]
        whole = all(isinstance(n, int) and n >= 0 for n in (*shape, begin, end))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise ValueError("%s: dtype, shape and two data_offsets are expected" % where) from None
    if name not in TYPES:
        raise ValueError("%s has the type %s; known are %s" % (where, name.upper(), ", ".join(TYPES)))
    count = 1
    for n in shape if whole else ():
        count *= n
    if not whole or end - begin != count * TYPES[name].size or start + end > size:
        raise ValueError(
            "%s: bytes %s to %s do not hold %s%s in a file of %d bytes" % (where, begin, end, name, list(shape), size)
        )
    return StoredTensor(path, name, shape, start + begin, start + end)


def read_bits(place: StoredTensor) -> np.ndarray:
    """The tensor's elements as unsigned integers of their size, mapped from the file, 1-d."""
    if place.begin == place.end:
        return np.empty(0, TYPES[place.dtype].bits)
    data = np.memmap(place.path, np.uint8, "r", place.begin, (place.end - place.begin,))
    return (
        data.view(TYPES[place.dtype].bits)
        if place.begin % TYPES[place.dtype].size == 0
        else (np.frombuffer(data.tobytes(), TYPES[place.dtype].bits))
    )
