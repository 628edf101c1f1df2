"""Gives the tensors of another capture in place of the model's own: replacement and teacher forcing."""

from __future__ import annotations

import os
from typing import Dict, List, Optional

from .errors import CaptureError
from .plan import Plan, matches
from .reading import CaptureFolder, Entry, read


class Reference:
    """The tensors of a capture, as torch tensors."""

    def __init__(self, folder: str, rank: int):
        own = os.path.join(folder, "rank-%05d" % rank)
        self.capture: CaptureFolder = read(own if os.path.isdir(own) else folder)
        self.used = 0
        self._places = {}
        for entry in self.capture:
            if entry.tensor is not None and not entry.layout:
                self._places[(entry.name, entry.direction, entry.port, entry.step)] = entry

    def has(self, name: str, direction: str) -> bool:
        return any(n == name and d == direction for n, d, _, _ in self._places)

    def names(self) -> List[str]:
        return sorted({name for name, _, _, _ in self._places})

    def get(self, name: str, direction: str, port: int, step: int, like):
        """The tensor, of the type and on the device of `like`; None where the capture has none.
        Raises CaptureError where the shapes differ."""
        entry = self._places.get((name, direction, port, step))
        if entry is None:
            return None
        if tuple(like.shape) != entry.shape:
            raise CaptureError(
                "%s: %s has the shape %s; this run has %s there"
                % (self.capture.folder, entry.key, list(entry.shape), list(like.shape))
            )
        self.used += 1
        return self._tensor(entry).to(device=like.device, dtype=like.dtype)

    def _tensor(self, entry: Entry):
        import numpy as np
        import torch

        values = np.array(self.capture.tensor(entry))  # a copy that may be written to
        if values.dtype.kind == "u" and values.dtype.itemsize > 1:
            values = values.astype(np.int64)  # an old torch has no such types
        return torch.from_numpy(values.reshape(entry.shape))


class Substitutes:
    """Which modules get which tensors."""

    def __init__(self, plan: Optional[Plan], rank: int):
        self._replaces = plan.replaces if plan is not None else ()
        self._opened: Dict[str, Reference] = {}
        for replace in self._replaces:
            if replace.capture not in self._opened:
                self._opened[replace.capture] = Reference(replace.capture, rank)
            if not any(matches(replace.name, n) for n in self._with_output(replace.capture)):
                raise CaptureError(
                    '%s: holds no full output of %s, which is to be replaced; capture it with what = "full"'
                    % (replace.capture, replace.name)
                )
        self.forced: Optional[Reference] = None
        if plan is not None and plan.forced_by is not None:
            self.forced = Reference(plan.forced_by, rank)
            if not self.forced.names():
                raise CaptureError("%s: holds no full tensors, so that nothing can be forced" % plan.forced_by)

    def check(self, part: str, own: Optional[str], what: str) -> None:
        """Raises CaptureError where the forcing capture says that it is of another model or of other inputs."""
        if self.forced is None:
            return
        theirs = (self.forced.capture.header.get(part) or {}).get("digest")
        if own and theirs and own != theirs:
            raise CaptureError(
                "%s: is of %s, with digest %s...; a capture of %s..., which runs here, is right"
                % (self.forced.capture.folder, what, theirs[:16], own[:16])
            )

    def _with_output(self, folder: str) -> List[str]:
        reference = self._opened[folder]
        return [n for n in reference.names() if reference.has(n, "output")]

    def replacing(self, name: str, base: str) -> Optional[Reference]:
        """Where the outputs of this module come from; None: they stay."""
        for replace in self._replaces:
            if matches(replace.name, name) or matches(replace.name, base):
                return self._opened[replace.capture]
        return None

    def unused(self) -> Optional[str]:
        """A sentence about a capture none of whose tensors found its place."""
        for reference in list(self._opened.values()) + ([self.forced] if self.forced else []):
            if not reference.used:
                return "%s: none of its tensors belongs to a module that ran" % reference.capture.folder
        return None
