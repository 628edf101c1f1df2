"""Writes a capture folder from a background thread, beside its final place, and moves it there at the end."""

from __future__ import annotations

import collections
import hashlib
import itertools
import json
import os
import shutil
import threading
from typing import Any, Deque, Dict, List, Optional, Set, Tuple

from . import errors
from .safetensors_file import ShardWriter

SCHEMA = "plinth.capture/1"


def key_of(entry: Dict[str, Any]) -> str:
    """What is unique in a capture: name, direction, port and step."""
    short = "out" if entry["direction"] == "output" else "in"
    return "%s:%s%d@%d" % (entry["name"], short, entry["port"], entry["step"])


class CaptureWriter:
    """One capture being written.

    `put` hands a value over and returns; the thread computes statistics and digests and writes. `queue_bytes` bounds
    what waits: beyond it, `put` waits for the thread. What goes wrong in the thread is raised by `finish`; until then
    further values are dropped, so that the model's run goes on.
    """

    def __init__(self, folder: str, queue_bytes: int = 1 << 30, shard_bytes: int = 1 << 31, digest: str = "auto"):
        self.folder = os.path.abspath(folder)
        self._digest = digest
        if os.path.lexists(self.folder):
            raise errors.CaptureError("%s: exists; give a folder that does not, or remove it" % self.folder)
        try:
            self._place = _make_place(*os.path.split(self.folder))
        except OSError as error:
            raise errors.CaptureError("%s: cannot be made: %s" % (self.folder, error)) from error
        self._queue_bytes = queue_bytes
        self._shard_bytes = shard_bytes
        self._entries: List[Dict[str, Any]] = []
        self._stored: Dict[Tuple[str, Tuple[int, ...], str], str] = {}
        self._keys: Set[str] = set()
        self._shards: List[ShardWriter] = []
        self._queue: Deque = collections.deque()
        self._waiting = 0
        self._closed = False
        self._error: Optional[BaseException] = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="plinth_capture", daemon=True)
        self._thread.start()

    @property
    def digests_all(self) -> bool:
        """Whether also the bytes of values that are not written are needed."""
        return self._digest == "all"

    @property
    def failed(self) -> bool:
        return self._error is not None

    def put(self, entry: Dict[str, Any], value, full: bool) -> None:
        """Queues an entry (name, op, direction, port, step, further keys) with its Snapshot."""
        held = value.held_bytes
        with self._changed:
            while self._waiting and self._waiting + held > self._queue_bytes and self._error is None:
                self._changed.wait()
            if self._error is not None or self._closed:
                return
            self._queue.append((entry, value, full, held))
            self._waiting += held
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if not self._queue:
                    return
                entry, value, full, held = self._queue.popleft()
            try:
                if self._error is None:
                    self._write(entry, value, full)
            except BaseException as error:  # the model's thread raises it from `finish`
                self._error = error
            del entry, value
            with self._changed:
                self._waiting -= held
                self._changed.notify_all()

    def _write(self, entry, value, full) -> None:
        key = key_of(entry)
        if key in self._keys:
            raise errors.CaptureError("the entry %s was recorded twice in one step" % key)
        self._keys.add(key)
        value.wait()
        line = {"index": len(self._entries)}
        line.update({k: entry[k] for k in ("name", "op", "direction", "port", "step")})
        line.update(shape=list(value.shape), dtype=value.name, stats=value.stats(), tensor=None, digest="")
        if full or self._digest == "all" or (self._digest == "auto" and value.on_host):
            bits = value.bits()
            line["digest"] = hashlib.sha256(memoryview(bits).cast("B") if bits.size else b"").hexdigest()
            if full:
                line["tensor"] = self._store(key, value, bits, line["digest"])
        if value.layout:
            line["layout"] = value.layout
        line.update({k: v for k, v in entry.items() if k not in line})
        self._entries.append(line)

    def _store(self, key, value, bits, digest) -> str:
        """Writes the bytes once: equal ones of one type and shape share a tensor (weights over steps)."""
        same = (value.name, value.shape, digest)
        if same in self._stored:
            return self._stored[same]
        data = memoryview(bits).cast("B") if bits.size else b""
        shard = self._shards[-1] if self._shards else None
        if (
            shard is None
            or (shard.bytes and shard.bytes + len(data) > self._shard_bytes)
            or (not shard.fits(key, value.name, value.shape, len(data)))
        ):
            if shard is not None:
                shard.close()
            shard = ShardWriter(os.path.join(self._place, "tensors-%05d" % (len(self._shards) + 1)))
            self._shards.append(shard)
            if not shard.fits(key, value.name, value.shape, len(data)):
                raise errors.CaptureError("the name %s... is too long for a tensor file" % key[:80])
        shard.add(key, value.name, value.shape, data)
        self._stored[same] = key
        return key

    def finish(self, header: Dict[str, Any], environment: Dict[str, Any]) -> None:
        """Waits for the thread, completes the files and moves the folder to its place.

        header: the keys of capture.json besides schema and entries. Raises what went wrong, after removing everything.
        """
        try:
            self._stop()
            if self._error is not None:
                raise self._error
            self._complete(header, environment)
        except OSError as error:
            self.abandon()
            raise errors.CaptureError("%s: not written: %s" % (self.folder, error)) from error
        except BaseException:
            self.abandon()
            raise

    def _stop(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _complete(self, header, environment) -> None:
        if self._shards:
            self._shards[-1].close()
        for number, shard in enumerate(self._shards):
            os.rename(shard.path, "%s-of-%05d.safetensors" % (shard.path, len(self._shards)))
        capture = {"schema": SCHEMA}
        capture.update(header)
        capture["entries"] = self._entries
        self._write_json("environment.json", environment)
        self._write_json("capture.json", capture)
        _sync_folder(self._place)
        if os.path.lexists(self.folder):
            raise errors.CaptureError("%s: appeared while the capture was being written" % self.folder)
        os.rename(self._place, self.folder)
        _sync_folder(os.path.dirname(self.folder))

    def _write_json(self, name: str, value) -> None:
        with open(os.path.join(self._place, name), "x", encoding="utf-8") as file:
            if name == "capture.json":
                _write_capture(file, value)
            else:
                json.dump(value, file, allow_nan=False, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Drops everything; leaves no folder."""
        with self._changed:
            self._queue.clear()
        self._stop()
        for shard in self._shards:
            shard.abandon()
        shutil.rmtree(self._place, ignore_errors=True)


def _make_place(parent: str, base: str) -> str:
    """A new folder beside the final one; of another name than any that a killed run left behind."""
    os.makedirs(parent, exist_ok=True)
    for number in itertools.count():
        place = os.path.join(parent, ".%s.partial-%d-%d" % (base, os.getpid(), number))
        try:
            os.mkdir(place)
            return place
        except FileExistsError:
            continue
    raise AssertionError("the numbers do not end")


def _write_capture(file, capture) -> None:
    """One line per entry, so that a capture can be read and compared by eye."""
    entries = capture["entries"]
    head = json.dumps({k: v for k, v in capture.items() if k != "entries"}, allow_nan=False, indent=1)
    file.write(head[:-2] + ',\n "entries": [')
    for number, entry in enumerate(entries):
        file.write(("," if number else "") + "\n  " + json.dumps(entry, allow_nan=False))
    file.write("\n ]\n}")


def _sync_folder(folder: str) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
