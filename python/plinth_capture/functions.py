"""Which operator a call of a torch function is: its name in captures, ports and attributes.

Functions are told by their names, so that `torch.softmax`, `Tensor.softmax`, `torch.nn.functional.softmax` and
`aten::_softmax` are one. A function that is not known keeps its own name; it is compared, never recomputed.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .element_types import name_of_torch
from .modules import conv_attributes, plain
from .ports import tensors_in


class Call(NamedTuple):
    """One operator that is about to run."""

    op: str
    inputs: List[Tuple[int, str, Any]]  # port, name, tensor
    attributes: Dict[str, Any]
    first_output: int = 0  # port of the first output tensor
    outputs: Optional[int] = None  # how many of them count; None: all


class _Bound(dict):
    """Arguments by name; what was not given is None."""

    def __missing__(self, key):
        return None


_ALIASES = {"self": "input", "axis": "dim", "keepdims": "keepdim", "mat1": "input", "vec": "other", "tensor": "input"}


def _bind(names: str, args, kwargs) -> _Bound:
    bound = _Bound(zip(names.split(), args))
    bound.update({_ALIASES.get(k, k): v for k, v in kwargs.items()})
    return bound


def _is_tensor(value) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _ports(*tensors) -> List[Tuple[int, str, Any]]:
    return [(port, "", t) for port, t in enumerate(tensors) if _is_tensor(t)]


def _axis(dim, tensor) -> int:
    return int(dim) + tensor.dim() if dim < 0 else int(dim)


# Handlers: (arguments, keywords, torch's name) -> Call, or None for "record nothing".


def _linear(args, kwargs, _):
    b = _bind("input weight bias", args, kwargs)
    return Call("linear", _ports(b["input"], b["weight"], b["bias"]), {})


def _matmul(args, kwargs, _):
    b = _bind("input other", args, kwargs)
    other = b["mat2"] if b["other"] is None else b["other"]
    return Call("matmul", _ports(b["input"], other), {})


def _reverse_matmul(args, kwargs, _):
    return Call("matmul", _ports(args[1], args[0]), {})


def _addmm(args, kwargs, _):
    b = _bind("input a b", args, kwargs)
    # By keyword these are called otherwise for each function of the family.
    left = next((v for v in (b["a"], b["batch1"], kwargs.get("mat1")) if v is not None), None)
    right = next((v for v in (b["b"], b["batch2"], b["mat2"]) if v is not None), None)
    addend = args[0] if args else kwargs.get("input", kwargs.get("self"))
    attributes = {k: plain(b[k]) for k in ("alpha", "beta") if b[k] is not None and b[k] != 1}
    return Call("matmul", _ports(left, right, addend), attributes)


def _conv(op):
    def handle(args, kwargs, _):
        b = _bind("input weight bias stride padding dilation groups", args, kwargs)
        given = (b["stride"] or 1, b["padding"] or 0, b["dilation"] or 1, b["groups"] or 1)
        return Call(
            op, _ports(b["input"], b["weight"], b["bias"]), conv_attributes(op, *given, kernel=b["weight"].shape[2:])
        )

    return handle


def _convolution(args, kwargs, name):
    """aten::convolution, which serves every rank and also transposed ones."""
    b = _bind("input weight bias stride padding dilation transposed output_padding groups", args, kwargs)
    op = {3: "conv1d", 4: "conv2d"}.get(b["weight"].dim())
    if op is None or b["transposed"]:
        return _other(args, kwargs, name)
    return Call(
        op,
        _ports(b["input"], b["weight"], b["bias"]),
        conv_attributes(op, b["stride"], b["padding"], b["dilation"], b["groups"], b["weight"].shape[2:]),
    )


def _layer_norm(args, kwargs, _):
    b = _bind("input normalized_shape weight bias eps", args, kwargs)
    eps = 1e-5 if b["eps"] is None else float(b["eps"])
    return Call(
        "layer_norm",
        _ports(b["input"], b["weight"], b["bias"]),
        {"normalized_shape": plain(list(b["normalized_shape"])), "eps": eps},
    )


def _rms_norm(args, kwargs, _):
    import torch

    b = _bind("input normalized_shape weight eps", args, kwargs)
    eps = float(torch.finfo(b["input"].dtype).eps) if b["eps"] is None else float(b["eps"])
    return Call(
        "rms_norm",
        _ports(b["input"], b["weight"]),
        {"normalized_shape": plain(list(b["normalized_shape"])), "eps": eps},
    )


def _softmax(op):
    def handle(args, kwargs, name):
        b = _bind("input dim", args, kwargs)
        if b["dim"] is None:
            return _other(args, kwargs, name)
        return Call(op, _ports(b["input"]), {"dim": _axis(b["dim"], b["input"])})

    return handle


def _attention(args, kwargs, _):
    b = _bind("query key value attn_mask dropout_p is_causal", args, kwargs)
    scale = 1 / math.sqrt(b["query"].shape[-1]) if b["scale"] is None else float(b["scale"])
    attributes = {"is_causal": bool(b["is_causal"]), "scale": scale, "dropout_p": float(b["dropout_p"] or 0)}
    if b["enable_gqa"]:
        attributes["enable_gqa"] = True
    return Call("attention", _ports(b["query"], b["key"], b["value"], b["attn_mask"]), attributes)


def _fused_attention(names):
    """The kernels that aten chooses among; logsumexp and random state come after the output and are not kept."""

    def handle(args, kwargs, _):
        b = _bind(names, args, kwargs)
        if b["attn_bias"] is not None:
            b["attn_mask"] = b["attn_bias"]
        keys = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale")
        return _attention((), {key: b[key] for key in keys}, "")

    return handle


def _gelu(args, kwargs, _):
    b = _bind("input", args, kwargs)
    return Call("gelu", _ports(b["input"]), {"approximate": b["approximate"] or "none"})


def _unary(op):
    def handle(args, kwargs, _):
        return Call(op, _ports(_bind("input", args, kwargs)["input"]), {})

    return handle


def _softplus(args, kwargs, _):
    b = _bind("input beta threshold", args, kwargs)
    return Call(
        "softplus",
        _ports(b["input"]),
        {
            "beta": float(1 if b["beta"] is None else b["beta"]),
            "threshold": float(20 if b["threshold"] is None else b["threshold"]),
        },
    )


def _embedding(args, kwargs, name):
    """torch.nn.functional.embedding takes (indices, weight), torch.embedding and aten's (weight, indices)."""
    b = _bind("input weight padding_idx max_norm", args, kwargs)
    if b["max_norm"] is not None:
        return _other(args, kwargs, name)
    given = [t for t in (b["indices"], b["input"], b["weight"]) if t is not None]
    indices = next(t for t in given if not t.is_floating_point())
    weight = next(t for t in given if t is not indices)
    return Call("embedding", _ports(indices, weight), {})


def _sort(args, kwargs, _):
    b = _bind("input dim descending", args, kwargs)
    return Call(
        "sort",
        _ports(b["input"]),
        {
            "dim": _axis(-1 if b["dim"] is None else b["dim"], b["input"]),
            "descending": bool(b["descending"]),
            "stable": bool(b["stable"]),
        },
    )


def _argsort(args, kwargs, name):
    return _sort(args, kwargs, name)._replace(first_output=1)


def _top_k(args, kwargs, _):
    b = _bind("input k dim largest sorted", args, kwargs)
    return Call(
        "top_k",
        _ports(b["input"]),
        {
            "k": int(b["k"]),
            "dim": _axis(-1 if b["dim"] is None else b["dim"], b["input"]),
            "largest": b["largest"] is not False,
            "sorted": b["sorted"] is not False,
        },
    )


def _argmax(args, kwargs, _):
    b = _bind("input dim keepdim", args, kwargs)
    attributes = {"method": "argmax", "keepdim": bool(b["keepdim"])}
    if b["dim"] is not None:
        attributes["dim"] = _axis(b["dim"], b["input"])
    return Call("sampling", _ports(b["input"]), attributes)


def _multinomial(args, kwargs, _):
    b = _bind("input num_samples replacement", args, kwargs)
    return Call(
        "sampling",
        _ports(b["input"]),
        {"method": "multinomial", "num_samples": int(b["num_samples"]), "replacement": bool(b["replacement"])},
    )


def _number(value):
    return value.item() if _is_tensor(value) else value


def _quantize(fake, per_channel):
    def handle(args, kwargs, _):
        names = "input scale zero_point " + ("axis " if per_channel else "")
        b = _bind(names + ("quant_min quant_max" if fake else "dtype"), args, kwargs)
        scale = b["scales"] if b["scale"] is None else b["scale"]
        zero = b["zero_points"] if b["zero_point"] is None else b["zero_point"]
        attributes = (
            {} if fake else {"dtype": str(b["dtype"]).rsplit(".q", 1)[-1].replace("int", "i").replace("ui", "u")}
        )
        attributes.update({k: int(b[k]) for k in ("quant_min", "quant_max") if b[k] is not None})
        if per_channel:
            attributes["axis"] = _axis(b["axis"], b["input"])
            inputs = _ports(b["input"], scale, zero)
        else:
            attributes.update(scale=float(_number(scale)), zero_point=int(_number(zero)))
            inputs = _ports(b["input"])
        return Call("fake_quantize" if fake else "quantize", inputs, attributes)

    return handle


def _dequantize(args, kwargs, name):
    from .snapshot import quantisation_of

    value = _bind("input", args, kwargs)["input"]
    if not _is_tensor(value) or not value.is_quantized:
        return _other(args, kwargs, name)
    attributes = quantisation_of(value)
    if "axis" in attributes:
        return Call(
            "dequantize", _ports(value, value.q_per_channel_scales(), value.q_per_channel_zero_points()), attributes
        )
    return Call("dequantize", _ports(value), attributes)


_METHOD_TYPES = {
    "float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64", "int": "int32",
    "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}  # fmt: skip


def _cast(args, kwargs, name):
    import torch

    to = getattr(torch, _METHOD_TYPES[name]) if name in _METHOD_TYPES else kwargs.get("dtype")
    for value in args[1:] + ((kwargs["other"],) if "other" in kwargs else ()):
        if isinstance(value, torch.dtype):
            to = value
        elif _is_tensor(value):
            to = value.dtype
    x = args[0] if args else kwargs.get("input", kwargs.get("self"))
    if to is None or not _is_tensor(x) or to == x.dtype or name_of_torch(to) is None:
        return None
    return Call("cast", _ports(x), {"to": name_of_torch(to)})


def _binary(op, reverse=False):
    def handle(args, kwargs, name):
        b = _bind("input other", args, kwargs)
        left, right = b["input"], b["other"]
        attributes = {"alpha": plain(b["alpha"])} if b["alpha"] not in (None, 1) else {}
        if b["rounding_mode"] is not None:
            return _other(args, kwargs, name)
        swapped = reverse
        if not _is_tensor(left):
            left, right, swapped = right, left, not swapped
        if not _is_tensor(right):
            if isinstance(right, complex):
                return _other(args, kwargs, name)
            attributes["other"] = plain(right)
        if swapped and op in ("sub", "div", "pow"):
            attributes["reverse"] = True
        return Call(op, _ports(left, right), attributes)

    return handle


def _operands(names: str, op: str):
    """Tensors are ports in this order, numbers attributes of these names."""

    def handle(args, kwargs, name):
        order = names.split()
        given = dict(zip(order, args))
        given.update({_ALIASES.get(k, k): v for k, v in kwargs.items()})
        if any(key not in order for key in given):
            return _other(args, kwargs, name)
        inputs, attributes = [], {}
        for port, key in enumerate(order):
            value = given.get(key)
            if _is_tensor(value):
                inputs.append((port, "", value))
            elif value is not None:
                attributes[key] = plain(value)
        return Call(op, inputs, attributes) if inputs else None

    return handle


def _where(args, kwargs, name):
    """torch.where takes the condition first, Tensor.where second."""
    import torch

    if len(args) + len(kwargs) < 3:
        return _other(args, kwargs, name)
    b = _bind("condition x y", args, {{"input": "x", "self": "x", "other": "y"}.get(k, k): v for k, v in kwargs.items()})
    condition, x, y = b["condition"], b["x"], b["y"]
    if not (_is_tensor(condition) and condition.dtype == torch.bool) or (
        _is_tensor(x) and x.dtype == torch.bool and _is_tensor(y) and y.dtype != torch.bool
    ):
        condition, x = x, condition
    return _operands("condition x y", "where")((condition, x, y), {}, name)


def _extreme(op):
    """maximum(x, other), max(x, other), max(x), or max(x, dim), which also says where it stands."""

    def handle(args, kwargs, name):
        b = _bind("input other keepdim", args, kwargs)
        if _is_tensor(b["other"]):
            return Call(op + "imum", _ports(b["input"], b["other"]), {})
        dim = b["dim"] if b["other"] is None else b["other"]
        if dim is None:
            return Call("a" + op, _ports(b["input"]), {"keepdim": False})
        return Call(op, _ports(b["input"]), {"dim": [_axis(dim, b["input"])], "keepdim": bool(b["keepdim"])})

    return handle


def _clamp(args, kwargs, name):
    b = _bind("input min max", args, kwargs)
    if _is_tensor(b["min"]) or _is_tensor(b["max"]):
        return _other(args, kwargs, name)
    return Call("clamp", _ports(b["input"]), {k: plain(b[k]) for k in ("min", "max") if b[k] is not None})


def _gather(args, kwargs, _):
    b = _bind("input dim index", args, kwargs)
    return Call("gather", _ports(b["input"], b["index"]), {"dim": _axis(b["dim"], b["input"])})


def _stack(args, kwargs, _):
    b = _bind("tensors dim", args, kwargs)
    dim, rank = int(b["dim"] or 0), b["tensors"][0].dim() + 1
    return Call("stack", _ports(*b["tensors"]), {"dim": dim + rank if dim < 0 else dim})


def _repeat_interleave(args, kwargs, name):
    b = _bind("input repeats dim", args, kwargs)
    if b["dim"] is None or not isinstance(b["repeats"], int):
        return _other(args, kwargs, name)
    return Call("repeat_interleave", _ports(b["input"]), {"repeats": b["repeats"], "dim": _axis(b["dim"], b["input"])})


def _dropout(args, kwargs, name):
    """Of torch.nn.functional, which trains unless told otherwise."""
    b = _bind("input p training", args, kwargs)
    p = 0.5 if b["p"] is None else float(b["p"])
    return Call("dropout", _ports(b["input"]), {"p": p, "training": b["training"] is not False})


def _group_norm(args, kwargs, _):
    b = _bind("input num_groups weight bias eps", args, kwargs)
    eps = 1e-5 if b["eps"] is None else float(b["eps"])
    return Call(
        "group_norm", _ports(b["input"], b["weight"], b["bias"]), {"num_groups": int(b["num_groups"]), "eps": eps}
    )


def _unary_with(op, **defaults):
    """An activation with numbers of its own, by the names and defaults of torch.nn.functional."""

    def handle(args, kwargs, _):
        b = _bind("input " + " ".join(defaults), args, kwargs)
        renamed = {"min_val": "min", "max_val": "max"}
        return Call(
            op, _ports(b["input"]), {renamed.get(k, k): float(v if b[k] is None else b[k]) for k, v in defaults.items()}
        )

    return handle


def _window(names):
    def handle(args, kwargs, name):
        b = _bind(names, args, kwargs)
        attributes = {}
        for ours, theirs in (("kernel", "kernel_size"), ("stride", "stride"), ("padding", "padding"),
                             ("dilation", "dilation"), ("output_size", "output_size")):  # fmt: skip
            if b[theirs] is not None and b[theirs] not in ((), []):
                attributes[ours] = plain(b[theirs])
        for flag in ("ceil_mode", "count_include_pad", "divisor_override"):
            if b[flag] is not None:
                attributes[flag] = plain(b[flag])
        return Call(name, _ports(b["input"]), attributes)

    return handle


def _cat(args, kwargs, _):
    b = _bind("tensors dim", args, kwargs)
    # One-dimensional tensors without elements may stand among others of any rank; they add nothing.
    parts = [t for t in b["tensors"] if t.dim() != 1 or t.shape[0]] or list(b["tensors"])
    return Call("cat", _ports(*parts), {"dim": _axis(b["dim"] or 0, parts[0])})


def _reduction(op):
    def handle(args, kwargs, name):
        b = _bind("input dim keepdim", args, kwargs)
        attributes = {"keepdim": bool(b["keepdim"])}
        dims = b["dim"]
        if dims is not None and dims != () and dims != []:
            dims = dims if isinstance(dims, (list, tuple)) else [dims]
            attributes["dim"] = [_axis(d, b["input"]) for d in dims]
        return Call(op, _ports(b["input"]), attributes)

    return handle


def _cumsum(args, kwargs, _):
    b = _bind("input dim", args, kwargs)
    return Call("cumsum", _ports(b["input"]), {"dim": _axis(b["dim"], b["input"])})


def _index_select(args, kwargs, _):
    b = _bind("input dim index", args, kwargs)
    return Call("index_select", _ports(b["input"], b["index"]), {"dim": _axis(b["dim"], b["input"])})


def _batch_norm(args, kwargs, _):
    """torch.batch_norm, which takes weight and bias in front of the running mean and variance."""
    b = _bind("input weight bias running_mean running_var training momentum eps", args, kwargs)
    inputs = _ports(b["input"], b["weight"], b["bias"], b["running_mean"], b["running_var"])
    return Call("batch_norm", inputs, {"training": bool(b["training"]), "eps": float(b["eps"])})


def _other(args, kwargs, name):
    """A function that has no recomputation: all tensors are inputs, simple arguments are attributes."""
    inputs, attributes = [], {}
    for position, value in enumerate(args):
        found = list(tensors_in(value))
        inputs.extend(t for _, t in found)
        if not found and isinstance(value, (bool, int, float, str, list, tuple)):
            attributes["arg%d" % position] = plain(value)
    for key, value in kwargs.items():
        found = list(tensors_in(value))
        inputs.extend(t for _, t in found if key != "out")
        if not found and isinstance(value, (bool, int, float, str, list, tuple)):
            attributes[key] = plain(value)
    return Call(name, _ports(*inputs), attributes) if inputs else None


HANDLERS: Dict[str, Callable] = {
    "linear": _linear,
    "matmul": _matmul, "__matmul__": _matmul, "__rmatmul__": _reverse_matmul, "mm": _matmul, "bmm": _matmul,
    "mv": _matmul, "dot": _matmul, "addmm": _addmm, "baddbmm": _addmm, "addmv": _addmm,
    "conv1d": _conv("conv1d"), "conv2d": _conv("conv2d"), "convolution": _convolution, "_convolution": _convolution,
    "layer_norm": _layer_norm, "native_layer_norm": _layer_norm, "rms_norm": _rms_norm, "_fused_rms_norm": _rms_norm,
    "softmax": _softmax("softmax"), "_softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"), "_log_softmax": _softmax("log_softmax"),
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention": _fused_attention("query key value dropout_p is_causal"),
    "_scaled_dot_product_flash_attention_for_cpu": _fused_attention("query key value dropout_p is_causal"),
    "_scaled_dot_product_efficient_attention":
        _fused_attention("query key value attn_bias compute_log_sumexp dropout_p is_causal"),
    "_scaled_dot_product_cudnn_attention":
        _fused_attention("query key value attn_bias compute_log_sumexp dropout_p is_causal"),
    "gelu": _gelu, "softplus": _softplus, "embedding": _embedding,
    "cat": _cat, "concat": _cat, "concatenate": _cat, "sum": _reduction("sum"), "mean": _reduction("mean"),
    "cumsum": _cumsum, "index_select": _index_select, "batch_norm": _batch_norm,
    "sort": _sort, "argsort": _argsort, "topk": _top_k, "argmax": _argmax, "multinomial": _multinomial,
    "quantize_per_tensor": _quantize(False, False), "quantize_per_channel": _quantize(False, True),
    "fake_quantize_per_tensor_affine": _quantize(True, False),
    "fake_quantize_per_channel_affine": _quantize(True, True),
    "dequantize": _dequantize,
    "to": _cast, "_to_copy": _cast, "type": _cast, "type_as": _cast,
    "__rsub__": _binary("sub", True), "rsub": _binary("sub", True), "__truediv__": _binary("div"),
    "true_divide": _binary("div"),
    "where": _where, "masked_fill": _operands("input mask value", "masked_fill"),
    "minimum": _extreme("min"), "maximum": _extreme("max"), "min": _extreme("min"), "max": _extreme("max"),
    "fmin": _other, "fmax": _other, "amax": _reduction("amax"), "amin": _reduction("amin"),
    "clamp": _clamp, "clip": _clamp, "clamp_min": _clamp, "gather": _gather, "stack": _stack,
    "repeat_interleave": _repeat_interleave, "dropout": _dropout, "group_norm": _group_norm,
    "pow": _binary("pow"), "__pow__": _binary("pow"), "__rpow__": _binary("pow", True), "outer": _binary("outer"),
    "leaky_relu": _unary_with("leaky_relu", negative_slope=0.01), "elu": _unary_with("elu", alpha=1),
    "hardtanh": _unary_with("hardtanh", min_val=-1, max_val=1), "relu6": _unary_with("hardtanh", min_val=0, max_val=6),
    "max_pool1d": _window("input kernel_size stride padding dilation ceil_mode"),
    "max_pool2d": _window("input kernel_size stride padding dilation ceil_mode"),
    "avg_pool1d": _window("input kernel_size stride padding ceil_mode count_include_pad"),
    "avg_pool2d": _window("input kernel_size stride padding ceil_mode count_include_pad divisor_override"),
    "adaptive_avg_pool1d": _window("input output_size"), "adaptive_avg_pool2d": _window("input output_size"),
    "multiply": _binary("mul"), "subtract": _binary("sub"), "divide": _binary("div"),
}  # fmt: skip
HANDLERS.update({name: _cast for name in _METHOD_TYPES})
HANDLERS.update({name: _binary(name) for name in ("add", "sub", "mul", "div")})
HANDLERS.update({"__%s__" % name: _binary(name) for name in ("add", "sub", "mul", "radd", "rmul", "div")})
HANDLERS["__radd__"], HANDLERS["__rmul__"] = _binary("add"), _binary("mul")
for _name in ("silu", "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "erf", "sin", "cos", "abs", "neg",
              "reciprocal", "square", "hardsigmoid", "hardswish", "mish", "log1p", "expm1"):  # fmt: skip
    HANDLERS[_name] = _unary(_name)
HANDLERS["__neg__"] = HANDLERS["negative"] = _unary("neg")
HANDLERS["__abs__"] = HANDLERS["absolute"] = _unary("abs")
# Known as functions of torch's C++ side; namesakes written in Python take other arguments and call them.
OPENED = frozenset(("batch_norm",))

# What moves, views, measures or makes tensors without computing: never an entry.
SILENT = frozenset("""
    __get__ __set__ __delete__ __getitem__ __setitem__ __len__ __iter__ __contains__ __hash__ __repr__ __format__
    __bool__ __int__ __float__ __index__ __dlpack__ __array__ __reduce_ex__ __deepcopy__ __setstate__ __eq__ __ne__
    __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__
    view view_as reshape reshape_as _reshape_alias _unsafe_view flatten unflatten squeeze unsqueeze transpose
    swapaxes swapdims permute movedim moveaxis t T mT expand expand_as broadcast_to broadcast_tensors narrow select
    split split_with_sizes chunk tensor_split unbind unfold as_strided slice alias detach lift_fresh contiguous clone
    diagonal view_as_real view_as_complex real imag
    size dim stride numel nelement is_contiguous is_floating_point is_complex is_signed is_nonzero is_sparse
    element_size storage_offset storage untyped_storage data_ptr get_device device dtype shape layout names
    is_quantized is_cuda requires_grad requires_grad_ retain_grad register_hook backward item tolist numpy cpu cuda
    is_pinned pin_memory record_stream is_tensor is_same_size equal allclose result_type promote_types can_cast
    finfo iinfo is_inference ndimension set_ resize_ data grad grad_fn is_leaf output_nr _version q_scale
    q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis qscheme int_repr is_conj is_neg
    tensor as_tensor from_numpy zeros ones empty full arange linspace logspace eye zeros_like ones_like empty_like
    full_like new_tensor new_zeros new_ones new_empty new_full rand randn randint randperm rand_like randn_like
    randint_like normal empty_strided new_empty_strided scalar_tensor meshgrid tril_indices triu_indices
    copy_ fill_ zero_ normal_ uniform_ manual_seed eq ne lt le gt ge isnan isinf isfinite logical_not logical_and
    logical_or logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor __rand__ __ror__ all any tril triu
    broadcast_shapes _has_compatible_shallow_copy_type is_grad_enabled has_names _local_scalar_dense
    """.split())


def function_name(func) -> str:
    """The plain name of what torch hands to a mode: `add_` and `__iadd__` are `add`."""
    schema = getattr(func, "_schema", None)  # an OpOverload
    if schema is not None:
        name = schema.name
    else:
        name = getattr(func, "_qualified_op_name", None) or getattr(func, "__name__", None) or ""
    space, _, short = name.rpartition("::")
    if space not in ("", "aten"):
        return name  # an operator of another library keeps its full name
    if short.startswith("__i") and short.endswith("__") and short not in ("__invert__", "__int__", "__index__",
                                                                         "__iter__"):  # fmt: skip
        short = "__" + short[3:]
    elif short.endswith("_") and not short.endswith("__") and short not in SILENT:
        short = short[:-1]
    return short


def describe(name: str, args: tuple, kwargs: dict) -> Optional[Call]:
    """The operator that a call is; None for one that computes nothing."""
    if name in SILENT:
        return None
    if any(t.is_complex() for _, t in tensors_in((args, kwargs))):
        return _other(args, kwargs, "complex." + name)  # what is known of the name is known of real numbers
    call = HANDLERS.get(name, _other)(args, kwargs, name)
    if call is None or call.op == name and name not in HANDLERS or call.op in ("sort", "top_k", "max", "min"):
        return call
    return call._replace(outputs=1)  # aten's kernels also give means, sums and random state
