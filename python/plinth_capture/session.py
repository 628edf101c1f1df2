"""Records what a model computes while a `with` block runs, into a capture folder that Plinth reads."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import environment, torch_state
from .digests import digest_of_files, digest_of_inputs, new_run_id
from .errors import CaptureError
from .last_bits import LastBits
from .modes import function_mode
from .modules import kind_of
from .plan import Plan, load
from .ports import parameters_of
from .recorder import Place, Recorder
from .rotary import RotaryFunctions
from .selection import ROOT, Selection
from .substitute import Substitutes
from .version import VERSION
from .writer import CaptureWriter

# What `python -m plinth_capture run` gives where the script itself says nothing.
defaults: Dict[str, Any] = {}
written = 0  # captures that this process completed

# Wrappers whose inner module has the names that other runs of the model have.
_WRAPPERS = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")
_INNER = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def _clean(name: str) -> str:
    """A module's path without what wrappers insert."""
    return ".".join(part for part in name.split(".") if part not in _INNER)


class Capture:
    """Records the modules (and operators) of a model.

        with plinth_capture.Capture(model, out="cap", full=["encoder.*"]) as cap:
            model(x)

    The run computes what it would compute without: hooks and modes look on, values are copied when they are there,
    gradients and graphs are not touched. Only a plan's `replace` and `forced_by` change values, and say so in the
    entries. The folder appears when the block ends; after an exception there is none.

    Args:
      model: the torch module whose submodules are named; wrappers such as DistributedDataParallel are looked through.
      out: the folder to write, which must not exist; "{repeat}" in it stands for `repeat`. With several ranks each
        writes out/rank-NNNNN.
      plan: file, dictionary or Plan of what to record (see plan.py); where it lists records, `level`, `full` and
        `statistics` do not count.
      level: "module": inputs and outputs of every module. "operator": those of functional operators too.
      full: patterns of names (`*` is anything) whose tensors are written in full; True: all.
      statistics: record the statistics of everything else.
      run_id: groups the captures of one run (ranks, repeats); by default a new one.
      repeat, seed: the number of the repeat and the seed that the caller used; they are recorded, not acted upon.
      flip_last_bits: repeats beyond the first run on neighbours of the inputs, about half of whose numbers differ in
        the last bit: where a run gives the same bits every time, that shows how far the model moves by itself. What
        enters is flipped, and what embeddings give; `repeat` is the seed, and repeat 0 stays as it is.
      inputs: tensor or dictionary of tensors that the run was given; its digest lets captures of other inputs be
        told apart. By default the tensors of the model's first call, where they are integers or at least f32.
      rank, world: by default from torch.distributed or the environment.
      model_name: by default the class.
      model_digest: sha256 of the weights; or `weights`: the files that they were loaded from, to be hashed.
      forced_by: a capture; each recorded module gets its inputs, and what follows gets its outputs (local errors).
      replace: {module: capture}; like a plan's.
      steps: "forward": each call of the model itself is a step, also `cap.step()`; "manual": `cap.step()` alone.
      digest: which tensors get a sha256. "full": those that are written; "auto": also those whose bytes are in the
        host's memory; "all": every one, also where that needs a transfer.
      queue_bytes: bound on values that wait to be written; beyond it the run waits.
      shard_bytes: size beyond which another tensor file is begun.

    Raises CaptureError, when the block begins or ends, in one line.
    """

    def __init__(
        self,
        model,
        out: Optional[Union[str, os.PathLike]] = None,
        plan: Union[None, str, os.PathLike, Dict[str, Any], Plan] = None,
        level: Optional[str] = None,
        full: Union[None, bool, str, Sequence[str]] = None,
        statistics: Optional[bool] = None,
        run_id: Optional[str] = None,
        repeat: Optional[int] = None,
        seed: Optional[int] = None,
        flip_last_bits: Optional[bool] = None,
        inputs: Any = None,
        rank: Optional[int] = None,
        world: Optional[int] = None,
        model_name: Optional[str] = None,
        model_digest: str = "",
        weights: Union[None, str, Sequence[str]] = None,
        forced_by: Optional[Union[str, os.PathLike]] = None,
        replace: Optional[Dict[str, str]] = None,
        steps: str = "forward",
        digest: str = "auto",
        queue_bytes: int = 1 << 30,
        shard_bytes: int = 1 << 31,
    ):
        def given(value, name, fallback):
            return defaults.get(name, fallback) if value is None else value

        self._model = _unwrapped(model)
        self._level = given(level, "level", "module")
        if self._level not in ("module", "operator"):
            raise CaptureError('level is %r; "module" or "operator" is right' % (self._level,))
        if steps not in ("forward", "manual") or digest not in ("auto", "full", "all"):
            raise CaptureError('steps is "forward" or "manual", digest is "auto", "full" or "all"')
        self._steps, self._digest = steps, digest
        self.repeat = int(given(repeat, "repeat", 0))
        self._seed = int(given(seed, "seed", 0))
        flips = bool(given(flip_last_bits, "flip_last_bits", False))
        self._last_bits = LastBits(self.repeat) if flips else None
        self._run_id = given(run_id, "run_id", None) or new_run_id()
        own_rank, own_world = torch_state.rank_and_world()
        self.rank = own_rank if rank is None else int(rank)
        self.world = own_world if world is None else int(world)
        if not 0 <= self.rank < self.world:
            raise CaptureError("rank is %d of %d; ranks count from 0" % (self.rank, self.world))
        self._plan = _with_options(load(given(plan, "plan", None)), given(forced_by, "forced_by", None), replace)
        full = given(full, "full", ())
        self._full = [full] if isinstance(full, str) else full
        self._statistics = bool(given(statistics, "statistics", True))
        self.folder = os.fspath(given(out, "out", "cap")).replace("{repeat}", str(self.repeat))
        if self.world > 1:
            if os.path.exists(os.path.join(self.folder, "capture.json")):
                raise CaptureError("%s: holds a capture of one rank; give another folder" % self.folder)
            self.folder = os.path.join(self.folder, "rank-%05d" % self.rank)
        self._inputs = inputs
        self._model_name = model_name or type(self._model).__name__
        weights = given(weights, "weights", None)
        self._model_digest = model_digest or (digest_of_files(weights) if weights else "")
        self._sizes = (queue_bytes, shard_bytes)
        self._handles: List[Any] = []
        self._mode: Any = None
        self._rotary: Optional[RotaryFunctions] = None
        self._precision: Optional[Dict[str, Any]] = None
        self._inputs_digest: Optional[str] = None if inputs is None else digest_of_inputs(inputs)
        self._recorder: Optional[Recorder] = None
        self._writer: Optional[CaptureWriter] = None

    # The block

    def __enter__(self) -> "Capture":
        if self._recorder is not None:
            raise CaptureError("a Capture serves one block; make another one")
        substitutes = Substitutes(self._plan, self.rank)
        substitutes.check("model", self._model_digest, "another model")
        selection = Selection(self._plan, self._level, self._full, self._statistics)
        self._writer = CaptureWriter(self.folder, *self._sizes, digest=self._digest)
        self._recorder = Recorder(self._writer, selection, substitutes, self._steps == "forward", self._last_bits)
        try:
            self._hook()
            if selection.operators:
                self._mode = function_mode(self._recorder)
                if self._mode is None:
                    self._say(
                        "this torch has no function modes (1.13 is the first), so that functional operators "
                        "are not recorded; modules are"
                    )
                else:
                    self._rotary = RotaryFunctions(self._recorder, self._model)
                    self._mode.__enter__()
                    if torch_state.has_fused_attention(self._model):
                        self._say(
                            "torch leaves its fused attention while functions are watched, which can change last "
                            "bits; torch.backends.mha.set_fastpath_enabled(False) in both runs makes them alike"
                        )
        except BaseException:
            self._unhook()
            self._writer.abandon()
            raise
        _open.append(self)
        return self

    def __exit__(self, kind, error, trace) -> None:
        if self in _open:
            _open.remove(self)
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        self._unhook()
        recorder, writer = self._recorder, self._writer
        assert recorder is not None and writer is not None
        if kind is not None:
            writer.abandon()
            return
        problem = recorder.error
        if problem is None and not recorder.recorded and not writer.failed:
            problem = CaptureError(
                "%s: nothing was recorded: no module of the model ran, or no pattern names one" % self.folder
            )
        if problem is None:
            unused = recorder.substitutes.unused()
            problem = CaptureError(unused) if unused else None
        if problem is None and self._last_bits is not None:
            try:
                self._last_bits.check(self.folder)
            except CaptureError as error:
                problem = error
        if problem is not None:
            writer.abandon()
            raise problem
        writer.finish(self._header(), environment.record())
        global written
        written += 1

    def step(self) -> None:
        """Ends a generation step: what follows is recorded under the next number. In the mode "forward" the next call
        of the model begins one by itself, unless this was called in between."""
        if self._recorder is None:
            raise CaptureError("step() belongs inside the block of a Capture")
        self._recorder.next_step()

    def _flips(self) -> Dict[str, Any]:
        if self._last_bits is None:
            return {}
        return {"last_bits": {"seed": self._last_bits.seed, "flipped": self._last_bits.flipped}}

    # Hooks

    def _hook(self) -> None:
        hooked = set()
        compiled = False
        for name, module in self._model.named_modules():
            compiled = compiled or getattr(module, "_compiled_call_impl", None) is not None
            compiled = compiled or type(module).__name__ == "OptimizedModule"
            name = _clean(name) or ROOT
            if id(module) in hooked or (name == ROOT and hooked):
                continue
            hooked.add(id(module))
            self._hook_one(name, module)
        if compiled:
            self._say(
                "the model holds graphs of torch.compile, which hide the modules inside: only what runs outside "
                "of them is recorded; capture the model before it is compiled to see all"
            )

    def _hook_one(self, name: str, module) -> None:
        recorder = self._recorder
        assert recorder is not None
        fused = type(module).__name__ == "TransformerEncoderLayer"
        place = Place(name, kind_of(module) is not None, parameters_of(module.forward), fused)

        def before(module, args, kwargs=None):
            if torch_state.is_compiling() or recorder.quiet():
                return None
            if name == ROOT and self._precision is None:
                with recorder.working():
                    self._at_first_call(args, kwargs or {})
            changed = recorder.enter(module, place, args, kwargs or {})
            if changed is None:
                return None
            return changed if kwargs is not None else changed[0]

        def behind(module, args, *rest):
            if torch_state.is_compiling() or recorder.quiet():
                return None
            return recorder.leave(place, rest[-1])

        with_kwargs, always = torch_state.hook_options()
        self._handles.append(module.register_forward_pre_hook(before, **with_kwargs))
        self._handles.append(module.register_forward_hook(behind, **with_kwargs, **always))

    def _unhook(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._rotary is not None:
            self._rotary.restore()

    def _at_first_call(self, args, kwargs) -> None:
        """What can only be asked while the model runs: autocast, and the inputs where none were named."""
        self._precision = torch_state.precision_of(self._model)
        if self._inputs_digest is None:
            self._inputs_digest = digest_of_inputs(list(args) + [kwargs[k] for k in sorted(kwargs)], coarse=False)
        assert self._recorder is not None
        try:
            self._recorder.substitutes.check("inputs", self._inputs_digest, "other inputs")
        except CaptureError as error:
            self._recorder.error = error  # the run goes on; the end of the block raises it

    def _say(self, text: str) -> None:
        assert self._recorder is not None
        self._recorder.notes[text] += 1
        warnings.warn("plinth_capture: " + text, stacklevel=4)

    # What stands in front of the entries

    def _header(self) -> Dict[str, Any]:
        recorder = self._recorder
        assert recorder is not None
        with recorder.working():
            precision = self._precision or torch_state.precision_of(self._model)
        producer = {"name": "plinth_capture", "version": VERSION, "kind": "pytorch", "level": self._level}
        producer.update(torch_state.framework())
        if recorder.notes:
            producer["notes"] = ["%s (%d times)" % (text, n) if n > 1 else text for text, n in recorder.notes.items()]
        return {
            "producer": producer,
            "run": {
                "id": self._run_id,
                "repeat": self.repeat,
                "seed": self._seed,
                "mode": "forced" if recorder.substitutes.forced else "free",
                **self._flips(),
            },
            "rank": self.rank,
            "world": self.world,
            "model": {"name": self._model_name, "digest": self._model_digest},
            "inputs": {"digest": self._inputs_digest or ""},
            "precision": precision,
        }


# Captures whose block is open, the innermost last.
_open: List[Capture] = []


def current() -> Optional[Capture]:
    """The capture whose block runs; None outside of one."""
    return _open[-1] if _open else None


def current_recorder() -> Optional[Recorder]:
    """The recorder of `current()`, where it listens now."""
    cap = current()
    recorder = cap._recorder if cap is not None else None
    return None if recorder is None or recorder.quiet() or torch_state.is_compiling() else recorder


def capture(model, **options) -> Callable:
    """Decorates a function: each call runs inside `Capture(model, **options)`.

    Calls are repeats: the first one is `repeat` (0), the next one more, and so on; "{repeat}" in `out` keeps their
    folders apart.

        @plinth_capture.capture(model, out="runs/{repeat}")
        def run(x):
            return model(x)
    """

    def decorate(function: Callable) -> Callable:
        state = {"repeat": int(options.get("repeat", 0)), "run_id": options.get("run_id")}

        @functools.wraps(function)
        def call(*args, **kwargs):
            if state["run_id"] is None:
                state["run_id"] = defaults.get("run_id") or new_run_id()
            own = dict(options, repeat=state["repeat"], run_id=state["run_id"])
            with Capture(model, **own):
                result = function(*args, **kwargs)
            state["repeat"] += 1
            return result

        return call

    return decorate


def _unwrapped(model):
    import torch

    if not isinstance(model, torch.nn.Module):
        raise CaptureError("the model is %s; a torch.nn.Module is right" % type(model).__name__)
    while type(model).__name__ in _WRAPPERS and isinstance(getattr(model, "module", None), torch.nn.Module):
        model = model.module
    return model


def _with_options(plan: Optional[Plan], forced_by, replace: Optional[Dict[str, str]]) -> Optional[Plan]:
    from .plan import Replace

    if forced_by is None and not replace:
        return plan
    plan = plan or Plan()
    more: Tuple[Replace, ...] = tuple(Replace(name, os.fspath(folder)) for name, folder in (replace or {}).items())
    return plan._replace(
        replaces=plan.replaces + more, forced_by=plan.forced_by if forced_by is None else os.fspath(forced_by)
    )
