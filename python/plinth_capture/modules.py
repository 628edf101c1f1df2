"""Which operator a module is, so that hooks alone give operators that Plinth can recompute.

A module counts as a torch class when it runs that class's own `forward`; the layers of other packages are told by the
names of their classes. Whatever is not known here is "module": compared as a layer, never recomputed.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple


class ModuleKind(NamedTuple):
    """What a module computes."""

    op: str
    attributes: Dict[str, Any]
    inputs: int  # how many of the tensor arguments are ports of the operator; the weights follow
    weights: Tuple[Optional[Any], ...]  # tensors of the ports behind the inputs; None: not given
    first_weight: int  # the port of weights[0]


_registered: Dict[Any, Callable[[Any], ModuleKind]] = {}

# Module attributes that hold the epsilon of a norm, in order of preference.
_EPS = ("eps", "variance_epsilon", "epsilon", "norm_eps")
_GELU_NAMES = {
    "GELUActivation": "none",
    "NewGELUActivation": "tanh",
    "FastGELUActivation": "tanh",
    "PytorchGELUTanh": "tanh",
    "GELUTanh": "tanh",
    "QuickGELUActivation": "sigmoid",
    "QuickGELU": "sigmoid",
}
# Norms that multiply by (weight + 1).
_OFFSET_NORMS = ("GemmaRMSNorm", "Gemma2RMSNorm", "Gemma3RMSNorm", "Gemma3nTextRMSNorm", "Qwen3NextRMSNorm")
_RMS_NAMES = ("RMSNorm", "T5LayerNorm", "MT5LayerNorm", "UMT5LayerNorm", "LongT5LayerNorm", "Pix2StructLayerNorm")


def register_module(
    kind: Any, op: str, inputs: int = 1, weights: Sequence[str] = (), attributes: Sequence[str] = ()
) -> None:
    """Says which operator a class of your own is.

    Args:
      kind: the class, or its name.
      op: the operator's name in captures; a name of Plinth's (docs/operators.md) makes it recomputable, another one
        is for a reference of your own.
      inputs: how many tensor arguments of `forward` are ports 0, 1, ...
      weights: names of the module's tensors that are the ports behind them.
      attributes: names of the module's numbers, texts or lists that the computation depends on.
    """

    def describe(module) -> ModuleKind:
        values = {name: plain(getattr(module, name)) for name in attributes}
        return ModuleKind(op, values, inputs, tuple(getattr(module, name, None) for name in weights), inputs)

    _registered[kind] = describe


def plain(value) -> Any:
    """A value that JSON can carry: numbers, texts, lists of them. Numbers that are not finite become texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return str(value).rsplit(".", 1)[-1]


def kind_of(module) -> Optional[ModuleKind]:
    """The operator that a module is; None where it is none that is known."""
    if hasattr(module, "parametrizations"):
        return None  # reading its weight computes it, which may change the module
    for key in type(module).__mro__:
        describe = _registered.get(key) or _registered.get(key.__name__)
        if describe is not None:
            return describe(module)
    for describe in (_torch_kind, _rms_norm_kind, _activation_kind, _conv1d_of_transformers):
        kind = describe(module)
        if kind is not None:
            return kind
    return None


def _simple(op, attributes=None, weights=()) -> ModuleKind:
    return ModuleKind(op, attributes or {}, 1, tuple(weights), 1)


def _torch_kind(module) -> Optional[ModuleKind]:
    import torch.nn as nn

    for name, describe in _TORCH.items():
        known = getattr(nn, name, None)  # an old torch lacks some
        if known is not None and isinstance(module, known) and type(module).forward is known.forward:
            return describe(module)
    return None


def _conv(op):
    def describe(m) -> Optional[ModuleKind]:
        if m.padding_mode != "zeros":
            return None  # it pads by other means first
        return _simple(
            op, conv_attributes(op, m.stride, m.padding, m.dilation, m.groups, m.kernel_size), (m.weight, m.bias)
        )

    return describe


def conv_attributes(op, stride, padding, dilation, groups, kernel) -> Dict[str, Any]:
    """Attributes of a convolution; "same" and "valid" become numbers."""
    axes = 1 if op == "conv1d" else 2

    def listed(value):
        values = [int(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
        return values * axes if len(values) == 1 else values

    out = {"stride": listed(stride), "dilation": listed(dilation), "groups": int(groups)}
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(out["dilation"], kernel)]
        out["padding"] = [t // 2 for t in total]
        if any(t % 2 for t in total):
            out["padding_end"] = [t - t // 2 for t in total]
    else:
        out["padding"] = listed(padding)
    return out


def _embedding(m) -> Optional[ModuleKind]:
    if m.max_norm is not None:
        return None  # it changes its weight
    return _simple("embedding", {} if m.padding_idx is None else {"padding_idx": int(m.padding_idx)}, (m.weight,))


def _gelu(m) -> ModuleKind:
    return _simple("gelu", {"approximate": getattr(m, "approximate", "none")})


def _softmax(op):
    def describe(m) -> Optional[ModuleKind]:
        # Without a dim torch chooses one by the rank, which is not known here.
        return None if m.dim is None else _simple(op, {"dim": int(m.dim)})

    return describe


def _attention(m) -> Optional[ModuleKind]:
    if not m._qkv_same_embed_dim or m.bias_k is not None or m.add_zero_attn:
        return None
    weights = (m.in_proj_weight, m.in_proj_bias, m.out_proj.weight, m.out_proj.bias)
    return ModuleKind(
        "multihead_attention", {"num_heads": int(m.num_heads), "batch_first": bool(m.batch_first)}, 3, weights, 3
    )


def _norm(op):
    def describe(m) -> ModuleKind:
        weights = (m.weight, m.bias) if op == "layer_norm" else (m.weight,)
        attributes = {"normalized_shape": [int(n) for n in m.normalized_shape]}
        if m.eps is not None:  # without one, torch takes the epsilon of the input's type
            attributes["eps"] = float(m.eps)
        return _simple(op, attributes, weights)

    return describe


def _batch_norm(m) -> Optional[ModuleKind]:
    if m.training or m.running_mean is None:
        return None  # it computes with the batch's own statistics
    return _simple(
        "batch_norm", {"training": False, "eps": float(m.eps)}, (m.weight, m.bias, m.running_mean, m.running_var)
    )


_TORCH: Dict[str, Callable[[Any], Optional[ModuleKind]]] = {
    "Linear": lambda m: _simple("linear", {}, (m.weight, m.bias)),
    "Conv1d": _conv("conv1d"),
    "Conv2d": _conv("conv2d"),
    "LayerNorm": _norm("layer_norm"),
    "RMSNorm": _norm("rms_norm"),
    "BatchNorm1d": _batch_norm,
    "BatchNorm2d": _batch_norm,
    "Embedding": _embedding,
    "GELU": _gelu,
    "SiLU": lambda m: _simple("silu"),
    "ReLU": lambda m: _simple("relu"),
    "Sigmoid": lambda m: _simple("sigmoid"),
    "Tanh": lambda m: _simple("tanh"),
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    "Softplus": lambda m: _simple("softplus", {"beta": float(m.beta), "threshold": float(m.threshold)}),
    "MultiheadAttention": _attention,
}


def _rms_norm_kind(module) -> Optional[ModuleKind]:
    name = type(module).__name__
    if not (name.endswith("RMSNorm") or name in _RMS_NAMES):
        return None
    own = list(module.named_parameters(recurse=False))
    eps = next((getattr(module, e) for e in _EPS if isinstance(getattr(module, e, None), float)), None)
    if eps is None or len(own) != 1 or own[0][0] != "weight" or own[0][1].dim() != 1:
        return None
    attributes: Dict[str, Any] = {"normalized_shape": [int(own[0][1].shape[0])], "eps": eps}
    if name in _OFFSET_NORMS:
        attributes["weight_offset"] = 1.0
    return _simple("rms_norm", attributes, (own[0][1],))


def _activation_kind(module) -> Optional[ModuleKind]:
    name = type(module).__name__
    if name in _GELU_NAMES:
        return _simple("gelu", {"approximate": _GELU_NAMES[name]})
    return _simple("silu") if name == "SiLUActivation" else None


def _conv1d_of_transformers(module) -> Optional[ModuleKind]:
    """GPT-2's Conv1D: a linear layer whose weight lies the other way round."""
    weight = getattr(module, "weight", None)
    if type(module).__name__ != "Conv1D" or not hasattr(module, "nf") or getattr(weight, "dim", lambda: 0)() != 2:
        return None
    return _simple("linear", {}, (weight.t(), getattr(module, "bias", None)))


def complete(kind: ModuleKind, tensors: List[Any]) -> Dict[str, Any]:
    """The attributes once the inputs are known: axes counted from the front, epsilons that depend on the type."""
    attributes = dict(kind.attributes)
    if tensors:
        if isinstance(attributes.get("dim"), int) and attributes["dim"] < 0:
            attributes["dim"] += tensors[0].dim()
        if kind.op == "rms_norm" and "eps" not in attributes:
            import torch

            attributes["eps"] = float(torch.finfo(tensors[0].dtype).eps)
    return attributes
