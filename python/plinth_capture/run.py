"""Runs a script with the modules of its model hooked: `python -m plinth_capture run script.py --out DIR`."""

from __future__ import annotations

import functools
import importlib
import os
import runpy
import sys
from typing import Any, List, Optional

from .errors import CaptureError


class _Starter:
    """Waits for the model to be called, and starts the capture in front of that call."""

    def __init__(self, attribute: Optional[str]):
        self._attribute = attribute  # a global of the script; None: the first module that is called
        self._capture: Any = None
        self._call: Any = None  # what calls modules while we listen
        self.used = False

    def listen(self) -> None:
        """Looks at each call of a module. A hook would come too late for the call itself."""
        from torch.nn import Module

        self._call = call = Module.__call__

        @functools.wraps(call)
        def first(module, *args, **kwargs):
            self._before(module)
            return call(module, *args, **kwargs)

        Module.__call__ = first

    def _before(self, module) -> None:
        from . import session

        if session.current() is not None:
            self.stop_listening()  # the script captures for itself
            self.used = True
        elif self._attribute is None or _resolve(sys.modules["__main__"], self._attribute) is module:
            self.stop_listening()
            self.start(module)

    def start(self, module) -> None:
        from .session import Capture

        self.used = True
        capture = Capture(module)
        capture.__enter__()
        self._capture = capture  # only once it is open is there something to close

    def stop_listening(self) -> None:
        if self._call is not None:
            from torch.nn import Module

            Module.__call__ = self._call
            self._call = None

    def finish(self, error: Optional[BaseException]) -> None:
        self.stop_listening()
        if self._capture is not None:
            self._capture.__exit__(type(error) if error else None, error, None)


def _resolve(module, attribute: str):
    value = module
    for part in attribute.split("."):
        value = getattr(value, part, None)
    return value


def run_script(script: str, arguments: List[str], model: Optional[str]) -> None:
    """Runs a script as __main__ with the options of `session.defaults`. model: "module:attribute"; a module that is
    left out or "__main__" means a global of the script. Raises CaptureError, and what the script raises."""
    from . import session

    if not os.path.exists(script):
        raise CaptureError("%s: there is no such script" % script)
    module, colon, attribute = (model or "").partition(":")
    if model and (not colon or not attribute):
        raise CaptureError('--model is "%s"; module:attribute is right' % model)
    before = session.written
    sys.argv = [script] + arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    starter = _Starter(attribute or None)
    if model and module not in ("", "__main__"):
        found = _resolve(importlib.import_module(module), attribute)
        if found is None:
            raise CaptureError("%s has no %s" % (module, attribute))
        starter.start(found)
    else:
        starter.listen()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            starter.finish(error)
            raise
    except BaseException as error:
        starter.finish(error)
        raise
    starter.finish(None)
    if not starter.used and session.written == before:
        raise CaptureError("%s: no model ran%s" % (script, " under the name %s" % attribute if attribute else ""))
