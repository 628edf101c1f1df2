"""What tells one run from another: digests of its inputs and weights, and its own name."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Optional, Sequence, Union

from .errors import CaptureError
from .ports import tensors_in
from .snapshot import Unrecordable, take


def digest_of_inputs(inputs, coarse: bool = True) -> Optional[str]:
    """sha256 of the inputs: of the bytes of one tensor; of several, of the lines "NAME DTYPE [d0,d1] SHA256\\n" sorted
    by name, names being keys or 0, 1, ...

    coarse: take half precision too. Without, inputs that a run may have rounded for itself give None, so that one
    model in two precisions is not taken for two inputs. None also where there is no tensor.
    """
    found = []
    for name, tensor in tensors_in(inputs):
        try:
            value = take(tensor, True)
        except Unrecordable:
            return None
        if not coarse and value.name in ("f16", "bf16") or value.name.startswith("f8"):
            return None
        found.append((name, value.name, value.shape, _hex(value)))
    if not found:
        return None
    if len(found) == 1:
        return found[0][3]
    lines = ["%s %s [%s] %s\n" % (n, t, ",".join(map(str, s)), d) for n, t, s, d in sorted(found)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _hex(value) -> str:
    value.wait()
    bits = value.bits()
    return hashlib.sha256(memoryview(bits).cast("B") if bits.size else b"").hexdigest()


def digest_of_files(files: Union[str, os.PathLike, Sequence[str]]) -> str:
    """sha256 of one file; of several, of the lines "SHA256  NAME\\n" in the order given, as sha256sum prints them."""
    if isinstance(files, (str, os.PathLike)):
        return _file(os.fspath(files))
    if len(files) == 1:
        return _file(os.fspath(files[0]))
    lines = ["%s  %s\n" % (_file(os.fspath(f)), os.path.basename(os.fspath(f))) for f in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _file(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise CaptureError("%s: the weights cannot be read: %s" % (path, error.strerror)) from None
    return digest.hexdigest()


def new_run_id() -> str:
    return "%s-%s" % (time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), hashlib.sha256(os.urandom(16)).hexdigest()[:8])
