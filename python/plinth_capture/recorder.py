"""Follows a run: which module and which operator computes now, and hands their tensors to the writer."""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import threading
from typing import Any, Dict, List, NamedTuple, Optional

from . import modules
from .functions import Call
from .last_bits import LastBits
from .ports import Arguments, replace_tensors, tensors_in
from .selection import FULL, NOTHING, OUTSIDE, ROOT, Selection
from .snapshot import Unrecordable, take
from .substitute import Substitutes
from .torch_state import in_backward, lowered_type
from .writer import CaptureWriter

# Arguments of torch's attention module that stand behind the weights.
_ATTENTION_MASKS = {"attn_mask": 7, "key_padding_mask": 8}


class Place(NamedTuple):
    """A module's place in the model, as far as it does not change while it runs."""

    name: str
    has_kind: bool
    parameters: List[inspect.Parameter]  # of its forward
    may_fuse: bool = False  # torch may run it as one kernel, past the modules inside


class Frame:
    """One call of a module that has not returned."""

    def __init__(self, name: str, base: str, kind: Optional[modules.ModuleKind]):
        self.name = name  # with the number of the call where it is not the first of this step
        self.base = base
        self.kind = kind
        self.attributes: Dict[str, Any] = {}
        self.counters: Dict[str, int] = collections.defaultdict(int)
        self.children = 0
        self.forced = False
        self.enters = False  # an embedding of the model's whole numbers, whose output is flipped

    def hides_operators(self) -> bool:
        """What is inside is this operator itself. Attention of torch is taken apart all the same."""
        return self.kind is not None and self.kind.op != "multihead_attention"


class Recorder:
    """The state of one capture. Everything that it does itself is hidden from its own hooks and modes."""

    def __init__(
        self,
        writer: CaptureWriter,
        selection: Selection,
        substitutes: Substitutes,
        automatic: bool,
        last_bits: Optional[LastBits] = None,
    ):
        self.writer = writer
        self.selection = selection
        self.substitutes = substitutes
        self._last_bits = last_bits if last_bits is not None and last_bits.active else None
        self.step = 0
        self.notes: Dict[str, int] = collections.defaultdict(int)
        self.error: Optional[BaseException] = None
        self.recorded = 0
        self._automatic = automatic
        self._advance = False
        self._stack: List[Frame] = []
        self._outside = Frame(OUTSIDE, OUTSIDE, None)
        self._calls: Dict[str, int] = collections.defaultdict(int)
        self._busy = threading.local()
        self._lock = threading.RLock()

    # Steps

    def next_step(self) -> None:
        """The next thing that runs belongs to the next step."""
        self._advance = False
        self.step += 1
        self._calls.clear()
        self._outside = Frame(OUTSIDE, OUTSIDE, None)

    # Modules

    def quiet(self) -> bool:
        """Whether to look away: our own work, an error before, or autograd calling modules again."""
        return getattr(self._busy, "on", False) or self.error is not None or in_backward()

    @property
    def within_operator(self) -> bool:
        """Whether the code that runs is one operator (see operators.py), so that functions in it are its own."""
        return getattr(self._busy, "within", False)

    @contextlib.contextmanager
    def operator_body(self):
        before = self.within_operator
        self._busy.within = True
        try:
            yield
        finally:
            self._busy.within = before

    @contextlib.contextmanager
    def working(self):
        """Hides our own torch calls; keeps what goes wrong in recording for the end of the capture."""
        before = getattr(self._busy, "on", False)
        self._busy.on = True
        try:
            with self._lock:
                yield
        finally:
            self._busy.on = before

    def enter(self, module, place: Place, args: tuple, kwargs: dict):
        """In front of a module. Returns (args, kwargs) where they are replaced, else None."""
        base = place.name
        with self.working():
            if base == ROOT:
                self._stack.clear()  # what an exception left behind
            if self._advance and not self._stack:  # what lay between belongs to the step before: it chose the token
                self.next_step()
            number = self._calls[base]
            self._calls[base] += 1
            frame = Frame(
                base if not number else "%s#%d" % (base, number),
                base,
                modules.kind_of(module) if place.has_kind else None,
            )
            if self._stack:
                self._stack[-1].children += 1
            arguments = Arguments(place.parameters, args, kwargs)
            changed = self._force(frame, arguments)
            if changed is None and self._last_bits is not None:
                if base == ROOT and not self._stack:
                    changed = self._last_bits.inputs(arguments)
                elif frame.kind is not None:
                    frame.enters = self._last_bits.of_whole_numbers(frame.kind.op, arguments)
            if changed is not None:
                arguments = Arguments(place.parameters, *changed)
            self._inputs(frame, arguments)
            self._stack.append(frame)
            return changed

    def _force(self, frame: Frame, arguments: Arguments):
        """The reference's inputs, where this module is recorded and the reference has them."""
        reference = self.substitutes.forced
        if reference is None or not self._wants(frame, "output") or not reference.has(frame.name, "input"):
            return None
        ports = self._ports(frame, arguments)

        def pick(position, tensor):
            got = reference.get(frame.name, "input", ports[position], self.step, tensor)
            if got is None:
                return tensor
            frame.forced = True
            return got

        changed = arguments.replaced(pick)
        return changed if frame.forced else None

    def _ports(self, frame: Frame, arguments: Arguments) -> List[int]:
        """The port of each tensor argument, in their order."""
        kind, ports = frame.kind, []
        for position, (name, _) in enumerate(arguments.tensors()):
            if kind is None or position < kind.inputs:
                ports.append(position)
            elif kind.op == "multihead_attention" and name in _ATTENTION_MASKS:
                ports.append(_ATTENTION_MASKS[name])
            else:
                ports.append(position + len(kind.weights))
        return ports

    def _wants(self, frame: Frame, direction: str) -> int:
        return self.selection.module(frame.name, frame.base, direction, frame.kind is not None)

    def _inputs(self, frame: Frame, arguments: Arguments) -> None:
        level = self._wants(frame, "input")
        if level == NOTHING and (frame.kind is None or self._wants(frame, "output") == NOTHING):
            return
        found = list(arguments.tensors())
        if frame.kind is not None:
            frame.attributes = modules.complete(frame.kind, [t for _, t in found])
        if level == NOTHING:
            return
        op = frame.kind.op if frame.kind is not None else "module"
        for port, (name, tensor) in zip(self._ports(frame, arguments), found):
            self._module_entry(frame, "input", port, name, tensor, level, lowered_type(op, tensor))
        if frame.kind is not None and level == FULL:
            for number, weight in enumerate(frame.kind.weights):
                if weight is not None:
                    port = frame.kind.first_weight + number
                    self._module_entry(frame, "input", port, "", weight, level, lowered_type(op, weight))

    def leave(self, place: Place, output):
        """Behind a module. Returns another output where it is replaced, else None."""
        base = place.name
        with self.working():
            frame = self._pop(base)
            if frame is None:
                return None
            if place.may_fuse and not frame.children:
                self.notes[
                    '%s ran as one kernel of torch, past the modules in it; level="operator" shows them' % base
                ] += 1
            # In full where it is replaced, so that both can be compared.
            level = self._wants(frame, "output")
            reference = self.substitutes.replacing(frame.name, frame.base)
            forced = self.substitutes.forced
            if reference is None and forced is not None and level and forced.has(frame.name, "output"):
                reference = forced
            if level:
                self._outputs(frame, output, level, reference is not None)
            if not self._stack and base == ROOT and self._automatic:
                self._advance = True
            if reference is None:
                return self._last_bits.output(output) if self._last_bits is not None and frame.enters else None
            return self._replaced(frame, output, reference)

    def _pop(self, base: str) -> Optional[Frame]:
        """The frame of this module; those above it were left by exceptions that the model caught."""
        for position in range(len(self._stack) - 1, -1, -1):
            if self._stack[position].base == base:
                frame = self._stack[position]
                del self._stack[position:]
                return frame
        return None

    def _outputs(self, frame: Frame, output, level: int, replaced: bool) -> None:
        more = {"replaced": True} if replaced else {}
        for port, (name, tensor) in enumerate(tensors_in(output)):
            self._module_entry(frame, "output", port, name, tensor, level, None, more)

    def _replaced(self, frame: Frame, output, reference):
        def pick(port, tensor):
            got = reference.get(frame.name, "output", port, self.step, tensor)
            return tensor if got is None else got

        return replace_tensors(output, pick)

    def _module_entry(self, frame, direction, port, name, tensor, level, cast_to, more=None) -> None:
        entry = {
            "name": frame.name,
            "op": frame.kind.op if frame.kind else "module",
            "direction": direction,
            "port": port,
            "step": self.step,
        }
        if frame.attributes:
            entry["attributes"] = frame.attributes
        if name:
            entry["port_name"] = name
        if frame.forced:
            entry["forced"] = True
        entry.update(more or {})
        self.put(entry, tensor, level, cast_to)

    def put(self, entry: Dict[str, Any], tensor, level: int, cast_to=None) -> None:
        """Takes a tensor's value now. What cannot be recorded becomes a note."""
        if self.error is not None:
            return
        try:
            full = level == FULL
            self.writer.put(entry, take(tensor, full or self.writer.digests_all, cast_to), full)
            self.recorded += 1
        except Unrecordable as reason:
            self.notes["%s was not recorded" % reason] += 1
        except Exception as error:  # the model's run goes on; the end of the capture raises it
            self.error = error

    # Operators

    def run(self, call: Call, execute, lowered: bool, pick=None):
        """Runs a functional operator (`execute` without arguments) and records it. `lowered`: autocast comes after
        this point, so that inputs are recorded as it will round them. `pick`: finds this operator's output in what
        `execute` returns."""
        with self.working():
            frame = self._stack[-1] if self._stack else self._outside
            if frame.hides_operators():
                wants = (NOTHING, NOTHING)
            else:
                number = frame.counters[call.op]
                frame.counters[call.op] += 1
                short = "%s.%d" % (call.op, number)
                decide = functools.partial(self.selection.operator, frame.name, frame.base, short)
                wants = (decide("input"), decide("output"))
            if wants[0]:
                for port, name, tensor in call.inputs:
                    cast_to = lowered_type(call.op, tensor) if lowered else None
                    self._operator_entry(frame, short, call, "input", port, name, tensor, wants[0], cast_to)
        step = self.step
        output = execute()
        if wants[1]:
            with self.working():
                for number, (name, tensor) in enumerate(tensors_in(pick(output) if pick else output)):
                    if call.outputs is not None and number >= call.outputs:
                        break
                    port = call.first_output + number
                    self._operator_entry(frame, short, call, "output", port, name, tensor, wants[1], None, step)
        return output

    def _operator_entry(self, frame, short, call, direction, port, name, tensor, level, cast_to, step=None) -> None:
        entry = {
            "name": "%s/%s" % (frame.name, short),
            "op": call.op,
            "direction": direction,
            "port": port,
            "step": self.step if step is None else step,
        }
        if call.attributes:
            entry["attributes"] = call.attributes
        if name and not name.isdigit():
            entry["port_name"] = name
        self.put(entry, tensor, level, cast_to)
