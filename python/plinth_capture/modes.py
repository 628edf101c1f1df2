"""Sees calls of torch functions that no module makes visible, by way of torch's function modes."""

from __future__ import annotations

import types
from typing import Any, Callable, Optional

from .functions import HANDLERS, OPENED, SILENT, describe, function_name
from .recorder import Recorder

# How functions of torch that are written in Python ask whether somebody stands in front of them.
_QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def function_mode(recorder: Recorder) -> Optional[Any]:
    """A context that records functional operators; None where this torch has no such modes (before 1.13).

    A function of torch that is itself written in Python and no operator (multi_head_attention_forward, interpolate) is
    run so that the mode sees the functions it calls. A dispatch mode would show the kernels below, but torch takes
    other ways through its composite functions where one is active, and the run must stay what it is.
    """
    try:
        from torch.overrides import TorchFunctionMode
    except ImportError:
        return None

    class FunctionMode(TorchFunctionMode):
        def __torch_function__(self, func, types_, args=(), kwargs=None):
            kwargs = kwargs or {}
            if recorder.quiet() or recorder.within_operator:
                return func(*args, **kwargs)
            name = function_name(func)
            known = name in SILENT or name in HANDLERS and name not in OPENED
            if isinstance(func, types.FunctionType) and not known:
                inside = _opened(func)
                if inside is not None:
                    with self:
                        return inside(*args, **kwargs)
            call = _described(recorder, func, args, kwargs)
            if call is None:
                return func(*args, **kwargs)
            return recorder.run(call, lambda: func(*args, **kwargs), True)

    return FunctionMode()


def _opened(func: types.FunctionType) -> Optional[Callable]:
    """The same code, which does not ask whether a mode is active: under one, it would be handed back to the mode, which
    is where it comes from. None for a function that does not ask in this way."""
    asked = [name for name in _QUESTIONS if name in func.__code__.co_names and name in func.__globals__]
    if not asked:
        return None
    names = dict(func.__globals__)
    names.update({name: _nobody for name in asked})
    inside = types.FunctionType(func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
    inside.__kwdefaults__ = func.__kwdefaults__
    return inside


def _nobody(*_args) -> bool:
    return False


def _described(recorder: Recorder, func, args, kwargs):
    """What a call is. A call that we misread must not stop the model: it is noted and left out."""
    name = function_name(func)
    if name in SILENT:
        return None
    with recorder.working():
        try:
            return describe(name, args, kwargs)
        except Exception as error:
            recorder.notes["%s was called in a way that is not understood (%s)" % (name, error)] += 1
            return None
