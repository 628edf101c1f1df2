"""The identity of machine and software that stands beside a capture."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from typing import Any, Dict, Optional

_SECONDS = 60


def _program() -> Optional[str]:
    """The program plinth: $PLINTH, else the one on the path."""
    named = os.environ.get("PLINTH")
    return named if named else shutil.which("plinth")


def record() -> Dict[str, Any]:
    """What `plinth env --json` says, where the program is there; else Python, framework and devices alone."""
    program = _program()
    if program is not None:
        try:
            done = subprocess.run(
                [program, "env", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, timeout=_SECONDS, check=True,
            )  # fmt: skip
            found = json.loads(done.stdout.decode("utf-8"))
            if isinstance(found, dict):
                return dict(found, python=_python())
        except (OSError, ValueError, subprocess.SubprocessError):
            pass  # the short record says what Python itself knows
    return {
        "schema": "plinth.environment-python/1",
        "python": _python(),
        "machine": {"system": platform.system(), "release": platform.release(), "processor": platform.machine(),
                    "cpus": os.cpu_count()},
    }  # fmt: skip


def _python() -> Dict[str, Any]:
    import numpy

    found: Dict[str, Any] = {"version": platform.python_version(), "numpy": numpy.__version__}
    try:
        from . import torch_state

        found.update(torch_state.framework())
        found["devices"] = list(torch_state.device_names())
    except ImportError:
        pass  # a capture by references alone needs no torch
    return found
