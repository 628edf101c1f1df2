"""Flips last bits of the numbers that enter a model: neighbours of an input, for the noise band of a bit-stable run."""

from __future__ import annotations

import numpy as np

from .errors import CaptureError
from .ports import replace_tensors

# Of each value's bits in memory, an integer type of its size.
_WIDTH = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}
# Arguments that carry no input: switches, and what an earlier step computed.
_SPARED = ("mask", "past", "cache", "bias")


class LastBits:
    """Which values of one run are flipped. Repeat 0 stays as it is; every other one has flips of its own, the same on
    every machine.

    Of each floating tensor that enters the model, and of what embeddings give for whole numbers, about half of the
    values change in the last bit of their significand. Zeros and what is not finite stay, so that no sign and no
    padding changes. Masks and caches are left alone.
    """

    def __init__(self, seed: int):
        self.seed = seed
        self.flipped = 0  # values
        self._calls = 0

    @property
    def active(self) -> bool:
        return self.seed > 0

    def inputs(self, arguments):
        """(args, kwargs) of the model's call with flipped inputs; None where there is nothing to flip."""
        names = [name for name, _ in arguments.tensors()]
        before = self.flipped

        def pick(port, tensor):
            name = names[port].lower()
            return tensor if any(word in name for word in _SPARED) else self.flip(tensor)

        changed = arguments.replaced(pick)
        return changed if self.flipped > before else None

    def of_whole_numbers(self, op: str, arguments) -> bool:
        """Whether an operator turns the model's whole numbers into the numbers that it computes with."""
        found = [tensor for _, tensor in arguments.tensors()]
        return op == "embedding" and bool(found) and not any(t.is_floating_point() for t in found[:1])

    def output(self, value):
        """The same structure with its floating tensors flipped."""
        return replace_tensors(value, lambda port, tensor: self.flip(tensor))

    def flip(self, tensor):
        """The neighbour of a tensor; the tensor itself where it holds nothing to flip. Gradients pass through."""
        import torch

        width = _WIDTH.get(str(tensor.dtype).rsplit(".", 1)[-1])
        if width is None or tensor.layout != torch.strided or tensor.device.type == "meta" or not tensor.numel():
            return tensor
        with torch.no_grad():
            plain = tensor.detach()
            dense = torch.empty(plain.shape, dtype=plain.dtype, device=plain.device)
            dense.copy_(plain)
            # Drawn by NumPy, whose legacy generator gives the same numbers everywhere.
            random = np.random.RandomState((self.seed * 1000003 + self._calls) % 2**32)
            self._calls += 1
            drawn = torch.from_numpy(random.randint(0, 2, tuple(dense.shape)).astype(width)).to(dense.device)
            drawn = drawn * (torch.isfinite(dense) & (dense != 0)).to(drawn.dtype)
            self.flipped += int(drawn.sum())
            flipped = (dense.view(getattr(torch, width)) ^ drawn).view(dense.dtype)
            if not tensor.requires_grad:
                return flipped
            step = flipped - dense  # one unit, so that the sum below is exact
        return tensor + step

    def check(self, folder: str) -> None:
        """Raises CaptureError where a run that was to have flips had none."""
        if self.active and not self.flipped:
            raise CaptureError(
                "%s: no last bits were flipped: no floating tensor entered the model, and no nn.Embedding ran; "
                "give the model numbers, or repeat without flips" % folder
            )
