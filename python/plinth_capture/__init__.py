"""Captures of PyTorch models for Plinth: what modules and operators compute, value by value.

    with plinth_capture.Capture(model, out="cap", full=["encoder.*"]):
        model(x)

Reading (`read`, `load_report`) and references of your own operators (`reference`) need NumPy alone.
"""

from __future__ import annotations

from .errors import CaptureError
from .reading import CaptureFolder, Entry, Report, load_report, read
from .references import reference
from .version import VERSION as __version__

__all__ = [
    "Capture",
    "CaptureError",
    "CaptureFolder",
    "Entry",
    "Report",
    "capture",
    "current",
    "load_report",
    "operator",
    "read",
    "reference",
    "register_module",
]

_WITH_TORCH = {
    "Capture": "session",
    "capture": "session",
    "current": "session",
    "operator": "operators",
    "register_module": "modules",
}


def __getattr__(name: str):
    # What needs torch is imported when it is asked for.
    if name not in _WITH_TORCH:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    import importlib

    value = getattr(importlib.import_module("." + _WITH_TORCH[name], __name__), name)
    globals()[name] = value
    return value
