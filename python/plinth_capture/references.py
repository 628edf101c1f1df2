"""References of the user's own operators, in double precision, and the captures of truth that they give.

    @plinth_capture.reference("my_norm")
    def my_norm(x, weight, *, eps=1e-6):
        return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight

`python -m plinth_capture reference CAPTURE --module my_refs.py --out TRUTH` runs them on the captured inputs;
`plinth replay --truth TRUTH` then judges the captured outputs.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from .element_types import TYPES
from .errors import CaptureError
from .reading import CaptureFolder, Entry, read
from .tensor_stats import stats_of_bits
from .version import VERSION
from .writer import CaptureWriter

_references: Dict[str, Callable] = {}


def reference(op: str) -> Callable:
    """Registers a function as the truth of an operator.

    It takes the inputs by port (floating tensors as float64, others in their own type, None for a port that was not
    given) and the attributes by keyword, and returns the output, or a tuple of outputs by port (None: no truth for
    this one).
    """

    def register(function: Callable) -> Callable:
        _references[op] = function
        return function

    return register


class Computed(NamedTuple):
    """What `compute` did."""

    operators: int  # calls that were recomputed
    left_out: List[str]  # a sentence for each that could not be


class _Value:
    """An output on its way to the file, as the writer takes it."""

    layout = ""
    on_host = True

    def __init__(self, array: np.ndarray):
        kind = array.dtype.kind
        if kind not in "fiub":
            raise ValueError("is of type %s; numbers are right" % array.dtype)
        self.name = {"f": "f64", "i": "i64", "u": "i64", "b": "bool"}[kind]
        self._array = np.ascontiguousarray(array, TYPES[self.name].numpy)
        self.shape = tuple(int(n) for n in array.shape)
        self.held_bytes = self._array.nbytes + 256

    def wait(self) -> None:
        pass

    def bits(self) -> np.ndarray:
        return self._array.reshape(-1).view(TYPES[self.name].bits)

    def stats(self):
        return stats_of_bits(self.bits(), self.name)


def load_module(path: str) -> None:
    """Runs a Python file, whose functions register themselves."""
    if not os.path.isfile(path):
        raise CaptureError("%s: there is no such file; Python code with @plinth_capture.reference is right" % path)
    name = "plinth_references_%s" % os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CaptureError("%s: is no Python file" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = dict(_references)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaptureError("%s: fails when it is loaded: %s: %s" % (path, type(error).__name__, error)) from error
    if _references == before:
        raise CaptureError('%s: registers nothing; decorate functions with @plinth_capture.reference("OP")' % path)


def compute(capture: Union[str, os.PathLike, CaptureFolder], out: Union[str, os.PathLike]) -> Computed:
    """Recomputes every registered operator of a capture and writes the capture of truth.

    Raises CaptureError where nothing could be recomputed, or a reference gives another shape than was captured.
    """
    source = capture if isinstance(capture, CaptureFolder) else read(capture)
    calls: Dict[Tuple[str, int], List[Entry]] = {}
    for entry in source:
        if entry.op in _references:
            calls.setdefault((entry.name, entry.step), []).append(entry)
    writer = CaptureWriter(os.fspath(out))
    done, left_out = 0, []
    try:
        for (name, step), entries in calls.items():
            reason = _recompute(source, name, step, entries, writer)
            done += reason is None
            left_out.extend([] if reason is None else ["%s (step %d): %s" % (name, step, reason)])
        if not done:
            known = ", ".join(sorted(_references)) or "none"
            why = left_out[0] if left_out else "it holds no operator that has a reference (there are: %s)" % known
            raise CaptureError("%s: nothing was recomputed: %s" % (source.folder, why))
    except BaseException:
        writer.abandon()
        raise
    writer.finish(_header(source), source.environment or {})
    return Computed(done, left_out)


def _recompute(source, name, step, entries: List[Entry], writer) -> Optional[str]:
    """Writes the outputs of one call. Returns why that is not possible, else None."""
    inputs = {e.port: e for e in entries if e.direction == "input"}
    outputs = {e.port: e for e in entries if e.direction == "output"}
    if not inputs or not outputs:
        return "inputs and outputs are needed, and it has %d and %d" % (len(inputs), len(outputs))
    for entry in inputs.values():
        if entry.tensor is None:
            return "input %d was recorded as statistics alone" % entry.port
    arguments: List[Any] = [None] * (max(inputs) + 1)
    for port, entry in inputs.items():
        values = source.tensor(entry)
        arguments[port] = values.astype(np.float64) if TYPES[entry.dtype].kind == "float" else np.array(values)
    op, attributes = entries[0].op, entries[0].attributes
    function = _references[op]
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments, **attributes)
    except Exception as error:
        where = "the reference of %s fails at %s" % (op, name)
        try:
            inspect.signature(function).bind(*arguments, **attributes)
        except TypeError as mismatch:
            where += ": it takes %s, not %d inputs and the attributes %s (%s)" % (
                inspect.signature(function),
                len(arguments),
                sorted(attributes),
                mismatch,
            )
            raise CaptureError(where) from error
        raise CaptureError("%s: %s: %s" % (where, type(error).__name__, error)) from error
    if not _write(name, step, op, attributes, result, outputs, writer):
        raise CaptureError(
            "the reference of %s at %s gives None; the output, an array of %d dimensions, is right"
            % (op, name, len(next(iter(outputs.values())).shape))
        )
    return None


def _write(name, step, op, attributes, result, outputs: Dict[int, Entry], writer) -> int:
    """Returns how many outputs there were."""
    written = 0
    results = result if isinstance(result, tuple) else (result,)
    for port, array in enumerate(results):
        if array is None or port not in outputs:
            continue
        where = "the reference of %s at %s, output %d," % (op, name, port)
        try:
            value = _Value(np.asarray(array))
        except ValueError as error:
            raise CaptureError("%s %s" % (where, error)) from None
        if value.shape != outputs[port].shape:
            raise CaptureError(
                "%s has the shape %s; captured is %s" % (where, list(value.shape), list(outputs[port].shape))
            )
        entry = {"name": name, "op": op, "direction": "output", "port": port, "step": step}
        if attributes:
            entry["attributes"] = attributes
        writer.put(entry, value, True)
        written += 1
    return written


def _header(source: CaptureFolder) -> Dict[str, Any]:
    header = {k: v for k, v in source.header.items() if k != "schema"}
    header["producer"] = {
        "name": "plinth_capture",
        "version": VERSION,
        "kind": "reference",
        "framework": "numpy",
        "framework_version": np.__version__,
        "of": os.path.basename(os.path.abspath(source.folder)),
    }
    header["precision"] = {"compute": "f64"}
    return header
