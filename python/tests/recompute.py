"""Recomputes operators from their entries alone, in double: what attributes and ports mean, written down once more."""

import math

import numpy as np


def softmax(x, dim=-1):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def linear(x, weight, bias=None):
    return x @ weight.T + (0 if bias is None else bias)


def matmul(a, b, addend=None, alpha=1, beta=1):
    return alpha * (a @ b) + (0 if addend is None else beta * addend)


def conv(x, weight, bias=None, stride=None, padding=None, padding_end=None, dilation=None, groups=1):
    axes = weight.ndim - 2
    batched = x if x.ndim == weight.ndim else x[None]
    batched = np.pad(batched, [(0, 0), (0, 0)] + list(zip(padding, padding_end or padding)))
    span = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    out_shape = [(n - s) // st + 1 for n, s, st in zip(batched.shape[2:], span, stride)]
    outputs, per_group = weight.shape[0], weight.shape[1]
    y = np.zeros([batched.shape[0], outputs] + out_shape)
    for o in range(outputs):
        first = (o // (outputs // groups)) * per_group
        for at in np.ndindex(*out_shape):
            window = tuple(slice(i * st, i * st + s, d) for i, st, s, d in zip(at, stride, span, dilation))
            patch = batched[(slice(None), slice(first, first + per_group)) + window]
            y[(slice(None), o) + at] = (patch * weight[o]).sum(tuple(range(1, axes + 2)))
    if bias is not None:
        y += bias.reshape([1, -1] + [1] * axes)
    return y if x.ndim == weight.ndim else y[0]


def _axes(normalized_shape):
    return tuple(range(-len(normalized_shape), 0))


def layer_norm(x, weight=None, bias=None, normalized_shape=(), eps=1e-5):
    axes = _axes(normalized_shape)
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def rms_norm(x, weight=None, normalized_shape=(), eps=1e-6, weight_offset=0):
    y = x / np.sqrt((x * x).mean(_axes(normalized_shape), keepdims=True) + eps)
    return y if weight is None else y * (weight + weight_offset)


def attention(q, k, v, mask=None, is_causal=False, scale=None, dropout_p=0, enable_gqa=False):
    assert dropout_p == 0
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ v


def multihead_attention(query, key, value, w, b, wo, bo, attn_mask=None, key_padding_mask=None, num_heads=1,
                        batch_first=False):  # fmt: skip
    if not batch_first:
        query, key, value = (np.swapaxes(t, 0, 1) for t in (query, key, value))
    width = query.shape[-1]

    def heads(x, part):
        rows = slice(part * width, (part + 1) * width)
        y = linear(x, w[rows], b[rows])
        return y.reshape(y.shape[0], y.shape[1], num_heads, -1).swapaxes(1, 2)

    mask = np.zeros((query.shape[1], key.shape[1]))
    for hidden in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None, :]):
        if hidden is not None:
            mask = mask + (np.where(hidden, -np.inf, 0.0) if hidden.dtype == bool else hidden)
    y = attention(heads(query, 0), heads(key, 1), heads(value, 2), mask, scale=(width // num_heads) ** -0.5)
    y = linear(y.swapaxes(1, 2).reshape(query.shape), wo, bo)
    return y if batch_first else y.swapaxes(0, 1)


def rotary(x, cos, sin, style="halves", rotary_dims=None):
    turned, rest = x[..., : rotary_dims or x.shape[-1]], x[..., rotary_dims or x.shape[-1] :]
    half = turned.shape[-1] // 2
    if style == "halves":
        other = np.concatenate([-turned[..., half:], turned[..., :half]], -1)
    else:
        other = np.stack([-turned[..., 1::2], turned[..., ::2]], -1).reshape(turned.shape)
    return np.concatenate([turned * cos + other * sin, rest], -1)


_erf = np.vectorize(math.erf)


def gelu(x, approximate="none"):
    if approximate == "none":
        return x * 0.5 * (1 + _erf(x / math.sqrt(2)))
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / (1 + np.exp(-1.702 * x))


def softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, 100))) / beta)


def embedding(indices, weight, padding_idx=None):
    return weight[indices]


def sort(x, dim=-1, descending=False, stable=False):
    order = np.argsort(-x if descending else x, dim, kind="stable")
    return np.take_along_axis(x, order, dim), order


def top_k(x, k=1, dim=-1, largest=True, sorted=True):
    values, order = sort(x, dim, largest)
    return values.take(range(k), dim), order.take(range(k), dim)


def sampling(x, method="", dim=None, keepdim=False, num_samples=1, replacement=False):
    assert method == "argmax"
    y = x.argmax() if dim is None else x.argmax(dim)
    return np.expand_dims(y, dim) if keepdim and dim is not None else np.asarray(y)


RANGES = {"i8": (-128, 127), "u8": (0, 255), "i32": (-(2**31), 2**31 - 1)}


def _along(x, value, axis):
    return value if axis is None else np.asarray(value).reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def quantize(x, scales=None, zeros=None, scale=None, zero_point=None, axis=None, dtype="i8", quant_min=None,
             quant_max=None):  # fmt: skip
    s, z = _along(x, scale if scales is None else scales, axis), _along(x, zero_point if zeros is None else zeros, axis)
    low, high = RANGES[dtype]
    return np.clip(
        np.rint(x / s) + z, low if quant_min is None else quant_min, high if quant_max is None else quant_max
    )


def dequantize(q, scales=None, zeros=None, scale=None, zero_point=None, axis=None, dtype=None):
    s, z = _along(q, scale if scales is None else scales, axis), _along(q, zero_point if zeros is None else zeros, axis)
    return (q.astype(np.float64) - z) * s


def fake_quantize(x, scales=None, zeros=None, scale=None, zero_point=None, axis=None, quant_min=None, quant_max=None):
    q = quantize(x, scales, zeros, scale, zero_point, axis, "i32", quant_min, quant_max)
    return dequantize(q, scales, zeros, scale, zero_point, axis)


def batch_norm(x, weight=None, bias=None, mean=None, variance=None, training=False, eps=1e-5):
    if training:
        axes = (0,) + tuple(range(2, x.ndim))
        mean, variance = x.mean(axes), x.var(axes)
    weight, bias, mean, variance = (
        v if v is None else v.reshape([1, -1] + [1] * (x.ndim - 2)) for v in (weight, bias, mean, variance)
    )
    y = (x - mean) / np.sqrt(variance + eps)
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def reduction(function):
    return lambda x, dim=None, keepdim=False: function(x, None if dim is None else tuple(dim), keepdims=keepdim)


def binary(function):
    def compute(a, b=None, other=None, alpha=1, reverse=False):
        b = other if b is None else b
        return function(b, a * alpha) if reverse else function(a, b * alpha)

    return compute


def where(condition, *given, x=None, y=None):
    given = list(given) + [None, None]
    return np.where(condition, given[0] if x is None else x, given[1] if y is None else y)


def masked_fill(x, mask, tensor=None, value=None):
    return np.where(mask, float(value) if tensor is None else tensor, x)


def extreme(values, places):
    def compute(x, dim, keepdim=False):
        return values(x, dim[0], keepdims=keepdim), places(x, dim[0], keepdims=keepdim)

    return compute


def group_norm(x, weight=None, bias=None, num_groups=1, eps=1e-5):
    rows = x.reshape(x.shape[0], num_groups, -1)
    y = ((rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + eps)).reshape(x.shape)
    weight, bias = (v if v is None else v.reshape([1, -1] + [1] * (x.ndim - 2)) for v in (weight, bias))
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


def dropout(x, p=0.5, training=True):
    assert not training or not p
    return x


FUNCTIONS = {
    "where": where, "masked_fill": masked_fill, "group_norm": group_norm, "dropout": dropout,
    "minimum": np.minimum, "maximum": np.maximum, "max": extreme(np.max, np.argmax), "min": extreme(np.min, np.argmin),
    "amax": lambda x, dim=None, keepdim=False: x.max(None if dim is None else tuple(dim), keepdims=keepdim),
    "amin": lambda x, dim=None, keepdim=False: x.min(None if dim is None else tuple(dim), keepdims=keepdim),
    "clamp": lambda x, min=None, max=None: np.clip(x, min, max),
    "gather": lambda x, index, dim: np.take_along_axis(x, index, dim),
    "stack": lambda *parts, dim: np.stack(parts, dim),
    "repeat_interleave": lambda x, repeats, dim: np.repeat(x, repeats, dim), "outer": np.outer,
    "leaky_relu": lambda x, negative_slope: np.where(x > 0, x, negative_slope * x),
    "elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "hardtanh": lambda x, min, max: np.clip(x, min, max),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "log1p": np.log1p, "expm1": np.expm1,
    "linear": linear, "matmul": matmul, "conv1d": conv, "conv2d": conv, "layer_norm": layer_norm,
    "rms_norm": rms_norm, "softmax": softmax, "log_softmax": lambda x, dim=-1: np.log(softmax(x, dim)),
    "attention": attention, "multihead_attention": multihead_attention, "rotary": rotary, "gelu": gelu,
    "softplus": softplus, "embedding": embedding, "sort": sort, "top_k": top_k, "sampling": sampling,
    "quantize": quantize, "dequantize": dequantize, "fake_quantize": fake_quantize, "cast": lambda x, to=None: x,
    "add": binary(np.add), "sub": binary(np.subtract), "mul": binary(np.multiply), "div": binary(np.divide),
    "pow": binary(np.power),
    "sum": reduction(np.sum), "mean": reduction(np.mean), "cumsum": lambda x, dim: x.cumsum(dim),
    "cat": lambda *parts, dim: np.concatenate(parts, dim), "index_select": lambda x, i, dim: x.take(i, dim),
    "batch_norm": batch_norm,
    "silu": lambda x: x / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": _erf, "sin": np.sin, "cos": np.cos, "abs": np.abs,
    "neg": np.negative, "reciprocal": np.reciprocal, "square": np.square,
}  # fmt: skip


def check(test, cap, tolerance=2e-6):
    """Recomputes every operator of a capture. Returns how often each one came."""
    calls, seen = {}, {}
    for entry in cap:
        calls.setdefault((entry.name, entry.step), []).append(entry)
    for (name, _), entries in calls.items():
        op = entries[0].op
        if op not in FUNCTIONS:
            continue
        inputs = {e.port: cap.tensor(e) for e in entries if e.direction == "input"}
        arguments = [inputs.get(p) for p in range(max(inputs) + 1)]
        arguments = [a.astype(np.float64) if a is not None and a.dtype.kind == "f" else a for a in arguments]
        result = FUNCTIONS[op](*arguments, **entries[0].attributes)
        results = result if isinstance(result, tuple) else (result,)
        outputs = {e.port: cap.tensor(e) for e in entries if e.direction == "output"}
        test.assertTrue(outputs, name)
        for port, got in outputs.items():
            if port < len(results):
                scale = np.abs(np.where(np.isfinite(results[port]), results[port], 0)).max(initial=0)
                test.assertEqual(got.shape, np.shape(results[port]), name)
                np.testing.assert_allclose(
                    got, results[port], rtol=0, atol=tolerance * scale, err_msg="%s %s" % (name, op)
                )
        seen[op] = seen.get(op, 0) + 1
    return seen
