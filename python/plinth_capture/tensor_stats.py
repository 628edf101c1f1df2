"""Statistics of one tensor, in double: the fields that every entry of a capture carries.

Two ways to the same numbers. `stats_of_bits` is for what lies in the host's memory: one pass in pieces that fit the
cache, on one thread, so that a repeat gives the same digits. `stats_on_device` is for accelerators: a few reductions
there, of which eleven numbers come back.

Mean and variance of a piece are computed about the piece's own mean and joined by the rule of Chan, Golub and
LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
"""

from __future__ import annotations

import math
from typing import Dict, Union

import numpy as np

from .element_types import TYPES, to_numpy, value_table

Stats = Dict[str, Union[int, float]]

# In the order of the format.
FIELDS = ("count", "finite", "nan", "pos_inf", "neg_inf", "zero", "subnormal", "min", "max", "mean", "std", "l2")
_PIECE = 1 << 15  # elements: two buffers of doubles that stay in the second-level cache
_DEVICE_PIECE = 1 << 25  # elements: bounds the doubles that a device holds for a moment


def _power_of_two(top: float) -> float:
    """A factor that keeps squares of values up to `top` in double's range; 1 where none is needed."""
    if top == 0 or 1e-120 < top < 1e120:
        return 1.0
    return math.ldexp(1.0, min(math.frexp(top)[1], 1020))


def _finish(counts, low, high, n, mean, m2, squares, scale) -> Stats:
    std = math.sqrt(max(m2 / n, 0.0)) if n else 0.0
    largest = float(np.finfo(np.float64).max)
    values = (low, high, mean * scale, std * scale, math.sqrt(squares) * scale) if n else (0.0,) * 5
    values = tuple(min(max(float(v), -largest), largest) for v in values)
    return dict(zip(FIELDS, tuple(int(c) for c in counts) + values))


def _count_floats(bits: np.ndarray, name: str):
    """Counts NaN, +inf, -inf, zeros and subnormals by their bits, which no flush-to-zero mode can hide."""
    t = TYPES[name]
    if t.size == 1:
        return _count_bytes(bits, name)
    sign = t.bits(1 << (t.size * 8 - 1))
    infinity = t.bits(((1 << t.exponent_bits) - 1) << t.mantissa_bits)
    magnitude = bits & t.bits(int(sign) - 1)
    zero = int(np.count_nonzero(magnitude == 0))
    small = int(np.count_nonzero(magnitude < t.bits(1 << t.mantissa_bits))) - zero
    nan = positive = negative = 0
    if magnitude.size and magnitude.max() >= infinity:
        nan = int(np.count_nonzero(magnitude > infinity))
        positive = int(np.count_nonzero(bits == infinity))
        negative = int(np.count_nonzero(bits == (infinity | sign)))
    return nan, positive, negative, zero, small


def _count_bytes(bits: np.ndarray, name: str):
    t, table = TYPES[name], value_table(name)
    codes = np.bincount(bits, minlength=256)
    subnormal = (np.abs(table) < 2.0 ** (1 - t.bias)) & (table != 0)
    return tuple(
        int(codes[mask].sum()) for mask in (np.isnan(table), table == np.inf, table == -np.inf, table == 0, subnormal)
    )


def stats_of_bits(bits: np.ndarray, name: str) -> Stats:
    """Statistics of a tensor.

    Args:
      bits: 1-d, contiguous, of the unsigned type of the element's size.
      name: the element type, such as "bf16".
    Returns: the twelve fields of the format; minimum to l2 over the finite elements, 0 where there are none; `std`
      divides by the count.
    """
    t = TYPES[name]
    scale = 1.0
    if name == "f64" and bits.size:
        values = bits.view(np.float64)
        top = max(float(np.abs(p[np.isfinite(p)]).max(initial=0.0)) for p in _pieces(values))
        scale = _power_of_two(top)
    counts = np.zeros(5, np.int64)
    low, high = math.inf, -math.inf
    n, mean, m2, squares = 0, 0.0, 0.0, 0.0
    doubles, products = np.empty((2, min(bits.size, _PIECE)))
    for piece in _pieces(bits):
        x = doubles[: piece.size]
        x[:] = to_numpy(piece, name)
        if t.kind == "float":
            found = _count_floats(piece, name)
            if found[0] or found[1] or found[2]:
                x = x[np.isfinite(x)]
        else:
            found = (0, 0, 0, piece.size - int(np.count_nonzero(piece)), 0)
        counts += found
        if not x.size:
            continue
        low, high = min(low, float(x.min())), max(high, float(x.max()))
        if scale != 1.0:
            x /= scale
        y = products[: x.size]
        squares += float(np.sum(np.multiply(x, x, out=y)))
        own = float(np.sum(x)) / x.size
        x -= own
        own_m2 = float(np.sum(np.multiply(x, x, out=y)))
        both = n + x.size
        delta = own - mean
        m2 += own_m2 + delta * delta * (n * x.size / both)
        mean += delta * (x.size / both)
        n = both
    return _finish((bits.size, n, *counts), low, high, n, mean, m2, squares, scale)


def _pieces(flat: np.ndarray):
    for begin in range(0, flat.size, _PIECE):
        yield flat[begin : begin + _PIECE]


def device_can(tensor) -> bool:
    """Says whether `stats_on_device` serves this torch tensor: not doubles (their squares need scaling, which the host
    does) and not unsigned types that torch hardly computes with."""
    name = str(tensor.dtype).rsplit(".", 1)[-1]
    return tensor.device.type not in ("cpu", "mps") and name not in ("float64", "uint16", "uint32", "uint64")


def stats_on_device(tensor):
    """Reduces a torch tensor where it is; nothing waits for the device.

    tensor: detached, any strides. Returns f64 [pieces, 11] on its device, for `stats_from_device`.
    """
    import torch

    flat = tensor.reshape(-1)
    floating = flat.is_floating_point()
    tiny = torch.finfo(flat.dtype).tiny if floating else 0.0
    rows = []
    for begin in range(0, flat.numel(), _DEVICE_PIECE):
        piece = flat[begin : begin + _DEVICE_PIECE]
        if floating:
            piece = piece.to(torch.float32)  # exact, and the one way that every 8-bit type has
        x = piece.to(torch.float64)
        zero = (x == 0).sum()
        finite = torch.isfinite(x)
        n = finite.sum()
        kept = torch.where(finite, x, torch.zeros_like(x))
        mean = kept.sum() / n.clamp(min=1)
        off = torch.where(finite, x - mean, torch.zeros_like(x))
        row = [
            n,
            torch.isnan(x).sum(),
            (x == math.inf).sum(),
            (x == -math.inf).sum(),
            zero,
            ((x.abs() < tiny) & (x != 0)).sum(),
            torch.where(finite, x, torch.full_like(x, math.inf)).amin(),
            torch.where(finite, x, torch.full_like(x, -math.inf)).amax(),
            mean,
            (off * off).sum(),
            (kept * kept).sum(),
        ]
        rows.append(torch.stack([value.to(torch.float64) for value in row]))
    return torch.stack(rows) if rows else torch.zeros((0, 11), dtype=torch.float64, device=flat.device)


def stats_from_device(rows: np.ndarray, count: int) -> Stats:
    """Joins what `stats_on_device` gave, once it is in the host's memory: f64 [pieces, 11]."""
    counts = np.zeros(5, np.int64)
    low, high = math.inf, -math.inf
    n, mean, m2, squares = 0, 0.0, 0.0, 0.0
    for row in rows:
        own_n = int(row[0])
        counts += row[1:6].astype(np.int64)
        if not own_n:
            continue
        low, high = min(low, float(row[6])), max(high, float(row[7]))
        both = n + own_n
        delta = float(row[8]) - mean
        m2 += float(row[9]) + delta * delta * (n * own_n / both)
        mean += delta * (own_n / both)
        squares += float(row[10])
        n = both
    return _finish((count, n, *counts), low, high, n, mean, m2, squares, 1.0)
