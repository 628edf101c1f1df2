"""Sees calls of torch functions that no module makes visible, by way of torch's function and dispatch modes."""

from __future__ import annotations

import types
from typing import Any, Optional

from .functions import HANDLERS, SILENT, describe, function_name
from .recorder import Recorder


def function_mode(recorder: Recorder) -> Optional[Any]:
    """A context that records functional operators; None where this torch has no such modes.

    The function mode sees what Python code calls, with arguments as the user wrote them. A function of torch that is
    itself written in Python and not known as an operator (multi_head_attention_forward, einsum, interpolate) is run
    under a dispatch mode, which sees the kernels inside.
    """
    try:
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError:
        return None

    class KernelMode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            call = None if recorder.quiet() or recorder.within_operator else _described(recorder, func, args, kwargs)
            if call is None:
                return func(*args, **kwargs)
            return recorder.run(call, lambda: func(*args, **kwargs), False)

    class FunctionMode(TorchFunctionMode):
        def __torch_function__(self, func, types_, args=(), kwargs=None):
            kwargs = kwargs or {}
            if recorder.quiet() or recorder.within_operator:
                return func(*args, **kwargs)
            name = function_name(func)
            if isinstance(func, types.FunctionType) and name not in HANDLERS and name not in SILENT:
                with KernelMode():
                    return func(*args, **kwargs)
            call = _described(recorder, func, args, kwargs)
            if call is None:
                return func(*args, **kwargs)
            return recorder.run(call, lambda: func(*args, **kwargs), True)

    return FunctionMode()


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
