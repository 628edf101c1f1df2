"""Element types of captures: their names, how they lie in memory, and how NumPy reads them."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

import numpy as np


class ElementType(NamedTuple):
    """One element type. `bits` is the unsigned NumPy type of the same size."""

    name: str
    bits: type
    numpy: Optional[type]  # None: NumPy has no such type, see `to_numpy`
    kind: str  # "float", "signed", "unsigned" or "bool"
    exponent_bits: int = 0
    mantissa_bits: int = 0
    bias: int = 0
    finite_only: str = ""  # "fn": no infinities, NaN is all ones; "fnuz": also no -0, NaN is the sign bit alone

    @property
    def size(self) -> int:
        return np.dtype(self.bits).itemsize


def _float(name, bits, numpy, exponent, mantissa, bias=None, finite_only=""):
    if bias is None:
        bias = (1 << (exponent - 1)) - 1
    return ElementType(name, bits, numpy, "float", exponent, mantissa, bias, finite_only)


TYPES: Dict[str, ElementType] = {
    t.name: t
    for t in (
        _float("f64", np.uint64, np.float64, 11, 52),
        _float("f32", np.uint32, np.float32, 8, 23),
        _float("f16", np.uint16, np.float16, 5, 10),
        _float("bf16", np.uint16, None, 8, 7),
        _float("f8_e4m3", np.uint8, None, 4, 3, finite_only="fn"),
        _float("f8_e5m2", np.uint8, None, 5, 2),
        _float("f8_e4m3fnuz", np.uint8, None, 4, 3, bias=8, finite_only="fnuz"),
        _float("f8_e5m2fnuz", np.uint8, None, 5, 2, bias=16, finite_only="fnuz"),
        ElementType("i8", np.uint8, np.int8, "signed"),
        ElementType("i16", np.uint16, np.int16, "signed"),
        ElementType("i32", np.uint32, np.int32, "signed"),
        ElementType("i64", np.uint64, np.int64, "signed"),
        ElementType("u8", np.uint8, np.uint8, "unsigned"),
        ElementType("u16", np.uint16, np.uint16, "unsigned"),
        ElementType("u32", np.uint32, np.uint32, "unsigned"),
        ElementType("u64", np.uint64, np.uint64, "unsigned"),
        ElementType("bool", np.uint8, np.bool_, "bool"),
    )
}

# The names of torch's types; those that an old torch lacks never come up there.
TORCH_NAMES: Dict[str, str] = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8_e4m3",
    "float8_e5m2": "f8_e5m2",
    "float8_e4m3fnuz": "f8_e4m3fnuz",
    "float8_e5m2fnuz": "f8_e5m2fnuz",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
}


def name_of_torch(dtype) -> Optional[str]:
    """The capture's name of a torch dtype; None where there is none (complex and quantised types)."""
    return TORCH_NAMES.get(str(dtype).rsplit(".", 1)[-1])


def name_of_numpy(dtype) -> str:
    """The capture's name of a NumPy dtype. Raises ValueError for one without."""
    for t in TYPES.values():
        if t.numpy is not None and np.dtype(t.numpy) == np.dtype(dtype):
            return t.name
    raise ValueError("NumPy's type %s has no place in a capture" % np.dtype(dtype))


_tables: Dict[str, np.ndarray] = {}


def value_table(name: str) -> np.ndarray:
    """The value of each of the 256 codes of an 8-bit floating type, f64 [256]."""
    if name not in _tables:
        t = TYPES[name]
        code = np.arange(256)
        exponent = (code >> t.mantissa_bits) & ((1 << t.exponent_bits) - 1)
        mantissa = code & ((1 << t.mantissa_bits) - 1)
        step = 2.0**-t.mantissa_bits
        value = np.where(
            exponent == 0,
            mantissa * step * 2.0 ** (1 - t.bias),
            (1 + mantissa * step) * 2.0 ** (exponent - float(t.bias)),
        )
        magnitude = code & 0x7F
        if t.finite_only == "fn":
            value = np.where(magnitude == 0x7F, np.nan, value)
        elif not t.finite_only:
            top = exponent == (1 << t.exponent_bits) - 1
            value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
        value = np.where(code >= 128, -value, value)
        if t.finite_only == "fnuz":
            value[0x80] = np.nan
        _tables[name] = value
    return _tables[name]


def to_numpy(bits: np.ndarray, name: str) -> np.ndarray:
    """Reads elements that lie as `bits`. bf16 and 8-bit floats become float32, exactly; others keep their type."""
    t = TYPES[name]
    if t.numpy is not None:
        return bits.view(t.numpy)
    if name == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return value_table(name).astype(np.float32)[bits]
