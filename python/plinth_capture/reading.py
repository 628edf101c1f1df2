"""Reads captures and the JSON lines that the commands of Plinth print."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from .element_types import to_numpy
from .errors import CaptureError
from .safetensors_file import StoredTensor, read_bits, read_header
from .writer import SCHEMA, key_of


class Entry(NamedTuple):
    """One value of a run. Fields as in capture.json (docs/captures.md); `more` holds the further keys."""

    index: int
    name: str
    op: str
    direction: str
    port: int
    step: int
    dtype: str
    shape: Tuple[int, ...]
    stats: Dict[str, Any]
    tensor: Optional[str]
    digest: str
    attributes: Dict[str, Any]
    layout: str
    more: Dict[str, Any]

    @property
    def key(self) -> str:
        """Unique in a capture: "name:out0@0"."""
        return key_of(self._asdict())


class CaptureFolder:
    """An opened capture. Tensors are mapped from the files when asked for."""

    def __init__(self, folder: Union[str, os.PathLike]):
        self.folder = os.fspath(folder)
        path = os.path.join(self.folder, "capture.json")
        try:
            with open(path, encoding="utf-8") as file:
                self.header: Dict[str, Any] = json.load(file)
        except OSError as error:
            raise CaptureError("%s: no capture: %s" % (self.folder, error.strerror)) from None
        except ValueError as error:
            raise CaptureError("%s: no JSON: %s" % (path, error)) from None
        if not isinstance(self.header, dict) or self.header.get("schema") != SCHEMA:
            raise CaptureError('%s: the schema is not "%s"' % (path, SCHEMA))
        try:
            self.entries: List[Entry] = [_entry(e) for e in self.header.pop("entries")]
        except (KeyError, TypeError, ValueError) as error:
            raise CaptureError("%s: an entry is not as the format says: %r" % (path, error)) from None
        self._by_key = {entry.key: entry for entry in self.entries}
        if len(self._by_key) != len(self.entries):
            raise CaptureError("%s: two entries have one name, direction, port and step" % path)
        self._stored = self._find_tensors()
        for entry in self.entries:
            self._check(entry)

    def _find_tensors(self) -> Dict[str, StoredTensor]:
        stored: Dict[str, StoredTensor] = {}
        for file in sorted(os.listdir(self.folder)):
            if file.startswith("tensors-") and file.endswith(".safetensors"):
                try:
                    stored.update(read_header(os.path.join(self.folder, file)))
                except (ValueError, OSError) as error:
                    raise CaptureError(str(error)) from None
        return stored

    def _check(self, entry: Entry) -> None:
        if entry.tensor is None:
            return
        place = self._stored.get(entry.tensor)
        if place is None:
            raise CaptureError("%s: no file holds the tensor of %s" % (self.folder, entry.key))
        if place.dtype != entry.dtype or place.shape != entry.shape:
            found = (self.folder, entry.key, place.dtype, list(place.shape), entry.dtype, list(entry.shape))
            raise CaptureError("%s: the tensor of %s is %s%s; the entry says %s%s" % found)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, key: str) -> Optional[Entry]:
        """The entry of a key such as "encoder.layers.0:out0@0"; None where there is none."""
        return self._by_key.get(key)

    def tensor(self, entry: Union[Entry, str]) -> Optional[np.ndarray]:
        """The recorded tensor, read-only; bf16 and 8-bit floats as float32, exactly. None: statistics alone."""
        if isinstance(entry, str):
            found = self.find(entry)
            if found is None:
                raise KeyError(entry)
            entry = found
        if entry.tensor is None:
            return None
        return to_numpy(self.bits(entry), entry.dtype).reshape(entry.shape)

    def bits(self, entry: Entry) -> np.ndarray:
        """The recorded elements as unsigned integers of their size, 1-d."""
        return read_bits(self._stored[entry.tensor])

    @property
    def environment(self) -> Optional[Dict[str, Any]]:
        """environment.json; None where there is none."""
        path = os.path.join(self.folder, "environment.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)


_FIELDS = ("index", "name", "op", "direction", "port", "step", "dtype", "shape", "stats", "tensor", "digest")


def _entry(value: Dict[str, Any]) -> Entry:
    more = {k: v for k, v in value.items() if k not in _FIELDS + ("attributes", "layout")}
    return Entry(
        int(value["index"]),
        str(value["name"]),
        str(value.get("op", "")),
        str(value["direction"]),
        int(value.get("port", 0)),
        int(value.get("step", 0)),
        str(value["dtype"]),
        tuple(int(n) for n in value["shape"]),
        value.get("stats") or {},
        value.get("tensor"),
        str(value.get("digest") or ""),
        value.get("attributes") or {},
        str(value.get("layout") or ""),
        more,
    )


def read(folder: Union[str, os.PathLike]) -> CaptureFolder:
    """Opens a capture of one rank. Raises CaptureError for what is no whole capture."""
    return CaptureFolder(folder)


class Report(NamedTuple):
    """What a command of Plinth printed with --json: one object per item, and the summary where there is one."""

    rows: List[Dict[str, Any]]
    summary: Optional[Dict[str, Any]]


def load_report(source: Union[str, os.PathLike, Iterable[str]]) -> Report:
    """Reads JSON lines from a file, or from lines that are there already (such as a program's output)."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, encoding="utf-8") as file:
            return load_report(list(file))
    rows: List[Dict[str, Any]] = []
    summary = None
    for number, line in enumerate(source):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise CaptureError("line %d of the report is no JSON: %s" % (number + 1, error)) from None
        if isinstance(row, dict) and row.get("summary") is True:
            summary = row
        else:
            rows.append(row)
    return Report(rows, summary)
