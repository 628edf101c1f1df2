"""The identity of machine and software that stands beside a capture."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from typing import Any, Dict, Optional, Tuple

_SECONDS = 60


def _program() -> Optional[str]:
    """The program plinth: $PLINTH, else the one on the path."""
    named = os.environ.get("PLINTH")
    return named if named else shutil.which("plinth")


def record() -> Dict[str, Any]:
    """What `plinth env --json` says about the machine and this interpreter, where the program is there; else Python,
    framework and devices alone."""
    program = _program()
    if program is not None:
        found = _asked(program, tuple(sorted(os.environ.items())))
        if found is not None:
            return dict(json.loads(found), python=_python())
    return {
        "schema": "plinth.environment-python/1",
        "python": _python(),
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "processor": platform.machine(),
            "cpus": os.cpu_count(),
        },
    }


@functools.lru_cache(maxsize=4)
def _asked(program: str, variables: Tuple[Tuple[str, str], ...]) -> Optional[str]:
    """What the program prints; once for each state of the environment's variables, which it records. None where it
    does not run: the short record then says what Python itself knows."""
    try:
        done = subprocess.run(
            [program, "env", "--json", "--python", sys.executable],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
        text = done.stdout.decode("utf-8")
        return text if isinstance(json.loads(text), dict) else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


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
