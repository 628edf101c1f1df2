"""Takes the value that a torch tensor has now, so that nothing the model does later changes what is recorded."""

from __future__ import annotations

from typing import Optional, Tuple

import numpy as np

from .element_types import TYPES, name_of_torch
from .tensor_stats import Stats, device_can, stats_from_device, stats_of_bits, stats_on_device


class Unrecordable(Exception):
    """This kind of tensor has no place in a capture; the text says which kind."""


class Snapshot:
    """A value on its way to the file. Made by the model's thread, read by the writer's."""

    def __init__(self, name: str, shape: Tuple[int, ...], layout: str = ""):
        self.name = name
        self.shape = shape
        self.layout = layout
        self._bits: Optional[np.ndarray] = None
        self._copy = None  # on an accelerator
        self._rows = None  # statistics on an accelerator
        self._event = None

    @property
    def count(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def on_host(self) -> bool:
        """Whether the bytes are here already, so that their digest costs no transfer."""
        return self._bits is not None

    @property
    def held_bytes(self) -> int:
        """Memory that this holds until it is written."""
        held = 0 if self._bits is None and self._copy is None else self.count * TYPES[self.name].size
        return held + 256

    def wait(self) -> None:
        """Lets the device reach the point where the value was taken."""
        if self._event is not None:
            self._event.synchronize()

    def bits(self) -> np.ndarray:
        """The elements as unsigned integers of their size, 1-d."""
        if self._bits is None:
            self._bits, self._copy = _host_bits(self._copy.cpu(), self.name), None
        return self._bits

    def stats(self) -> Stats:
        if self._rows is not None:
            return stats_from_device(self._rows.cpu().numpy(), self.count)
        return stats_of_bits(self.bits(), self.name)


def _host_bits(tensor, name: str) -> np.ndarray:
    import torch

    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[TYPES[name].size]
    flat = tensor.reshape(-1)
    if flat.dtype != width:
        flat = flat.view(width)
    return flat.numpy().view(TYPES[name].bits)


def _plain(tensor):
    """Undoes wrappers: gives (dense tensor, layout). Raises Unrecordable."""
    import torch

    tensor = tensor.detach()
    if type(tensor).__name__ == "DTensor":
        tensor = tensor.to_local()
    if isinstance(tensor, torch.Tensor) and type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor", "ProxyTensor"):
            raise Unrecordable("%s has no values" % type(tensor).__name__)
        tensor = tensor.as_subclass(torch.Tensor)
    if getattr(tensor, "is_nested", False):
        raise Unrecordable("a nested tensor")
    if tensor.layout != torch.strided:
        raise Unrecordable("a tensor of layout %s" % str(tensor.layout).rsplit(".", 1)[-1])
    if tensor.device.type == "meta":
        raise Unrecordable("a tensor without values (device meta)")
    if tensor.is_quantized:
        return tensor.int_repr(), ""
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj()), "complex"
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    return tensor, ""


def take(tensor, full: bool, cast_to=None) -> Snapshot:
    """Takes a tensor's value: a copy, or where statistics are enough and the device can compute them, those alone.

    Args:
      tensor: any torch tensor; views and other strides are laid out densely.
      full: the bytes will be written.
      cast_to: a torch dtype that floating values are rounded to first (what autocast does in front of an operator).
    Raises: Unrecordable.
    """
    import torch

    with torch.no_grad():
        plain, layout = _plain(tensor)
        if cast_to is not None and plain.is_floating_point() and plain.dtype != cast_to:
            plain = plain.to(cast_to)
        name = name_of_torch(plain.dtype)
        if name is None:
            raise Unrecordable("a tensor of type %s" % str(plain.dtype).rsplit(".", 1)[-1])
        snapshot = Snapshot(name, tuple(int(n) for n in plain.shape), layout)
        if plain.device.type == "cpu":
            dense = torch.empty(plain.shape, dtype=plain.dtype)
            dense.copy_(plain)
            snapshot._bits = _host_bits(dense, name)
            return snapshot
        if plain.device.type == "cuda":
            if torch.cuda.is_current_stream_capturing():
                raise Unrecordable("a value inside the capture of a CUDA graph")
        if device_can(plain):
            snapshot._rows = stats_on_device(plain)
        if full or snapshot._rows is None:
            snapshot._copy = plain.clone(memory_format=torch.contiguous_format)
        if plain.device.type == "cuda":
            snapshot._event = torch.cuda.Event()
            snapshot._event.record(torch.cuda.current_stream(plain.device))
        return snapshot


def quantisation_of(tensor) -> dict:
    """Scale, zero point and axis of a quantised torch tensor, as attributes."""
    import torch

    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return {"scale": float(tensor.q_scale()), "zero_point": int(tensor.q_zero_point())}
    return {"axis": int(tensor.q_per_channel_axis())}
