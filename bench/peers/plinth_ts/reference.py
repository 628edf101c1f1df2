"""plinth-ts in PyTorch: the peer that `compare.py` times, and the independent statement of the model.

The definition in words is docs/models/plinth-ts.md. Shapes: B series, C context steps, H horizon steps, P steps a
patch, T = (C + H) / P tokens, K lags, NB = K + 3 bases. A context is double with NaN for gaps.
"""
import json
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def strongest_lags(z, m, k):
    """Finds the k highest local maxima of the masked, normalised autocorrelation.

    z (values, 0 in gaps) and m (1 where observed): [B, C] double -> lags [B, k] (0 where missing), r [B, k].
    """
    n = z.shape[1]
    size = 1 << (2 * n - 1).bit_length()
    fz, fm, f2 = (torch.fft.rfft(v, size) for v in (z, m, z * z))

    def correlate(a, b):
        return torch.fft.irfft(a * b.conj(), size)[:, :n]

    r = correlate(fz, fz) / (correlate(f2, fm) * correlate(fm, f2)).clamp_min(1e-9).sqrt()
    r = torch.round(r * 2**30) / 2**30  # so that rounding of the sums never decides a tie
    lag = torch.arange(n)
    enough = (correlate(fm, fm) > 23.5) & (lag >= 2)[None]
    r = torch.where(enough, r, torch.full_like(r, -1.0))
    peak = (r > torch.roll(r, 1, 1)) & (r >= torch.roll(r, -1, 1)) & (r > 0.1)
    peak[:, 0] = peak[:, -1] = False
    penalty = 0.05 * torch.log2(lag.clamp_min(1).to(r.dtype))[None] / 9
    score = torch.where(peak, r - penalty, torch.full_like(r, -9.0))
    lags, values = [], []
    for _ in range(k):
        best, i = score.max(1)
        found = best > -5
        lags.append(torch.where(found, i, torch.zeros_like(i)))
        values.append(torch.where(found, r.gather(1, i[:, None])[:, 0], torch.zeros_like(best)))
        near = (lag[None] - i[:, None]).abs() <= torch.clamp(i // 16, min=2)[:, None]
        score = torch.where(near, torch.full_like(score, -9.0), score)
    return torch.stack(lags, 1), torch.stack(values, 1)


def seasonal_channel(z, m, p, steps_ahead):
    """Gives the value one season (p steps, [B, 1]) ago, and the last season repeated beyond the context.

    -> values and validity, [B, C + H].
    """
    c = z.shape[1]
    t = torch.arange(c + steps_ahead)
    step = p.clamp_min(1)
    seasons_back = torch.where((t < c)[None], torch.ones_like(step), (t[None] - c + step) // step)
    source = t[None] - step * seasons_back
    ok = (source >= 0) & (p > 0)
    source = source.clamp(0, c - 1)
    valid = m.gather(1, source) * ok
    return z.gather(1, source) * valid, valid


def season_drift(z, m, p):
    """Mean of the last p steps minus the mean of the p before -> drift and whether it is known, [B, 1]."""
    age = torch.arange(z.shape[1] - 1, -1, -1)[None]
    newer, older = (age < p) * m, ((age >= p) & (age < 2 * p)) * m
    n_newer, n_older = newer.sum(1, keepdim=True), older.sum(1, keepdim=True)
    known = (p > 0) & (2 * n_newer > p) & (2 * n_older > p)
    mean_newer = (z * newer).sum(1, keepdim=True) / n_newer.clamp_min(1)
    mean_older = (z * older).sum(1, keepdim=True) / n_older.clamp_min(1)
    return torch.where(known, mean_newer - mean_older, torch.zeros_like(mean_newer)), known


def features(context, c, dtype):
    """Turns contexts [B, C] into what the encoder reads.

    -> tokens [B, T, F], bases and their validity [B, H, NB], loc and scale [B], key mask [B, T].
    """
    C, H, P, K = c["context_length"], c["horizon"], c["patch_length"], c["lags"]
    B, T = context.shape[0], (C + H) // P
    m = torch.isfinite(context).double()
    x = torch.nan_to_num(context, posinf=0.0, neginf=0.0) * m
    n = m.sum(1).clamp_min(1)
    loc = x.sum(1) / n
    scale = (((x - loc[:, None]) ** 2 * m).sum(1) / n).sqrt()
    scale = torch.where(scale > 1e-12 * loc.abs(), scale, torch.ones_like(scale))
    z = (x - loc[:, None]) / scale[:, None] * m

    p, r = strongest_lags(z, m, K)
    channels = [seasonal_channel(z, m, p[:, k : k + 1], H) for k in range(K)]
    last = z.gather(1, (m * torch.arange(1, C + 1)).argmax(1)[:, None])
    p1 = p[:, :1]
    drift, drift_known = season_drift(z, m, p1)
    seasons_ahead = (torch.arange(H)[None] + p1.clamp_min(1)) // p1.clamp_min(1)
    grown = channels[0][0][:, C:] + drift * seasons_ahead
    one = torch.ones(B, H, dtype=z.dtype)
    base = torch.stack([v[:, C:] for v, _ in channels] + [last * one, 0 * one, grown], 2)
    valid = torch.stack([k[:, C:] for _, k in channels] + [one, one, channels[0][1][:, C:] * drift_known], 2)

    future = torch.zeros(B, H, dtype=z.dtype)
    per_step = [torch.asinh(torch.cat([z, future], 1)), torch.cat([m, future], 1)]
    for value, known in channels:
        per_step += [torch.asinh(value), known]
    per_step = torch.stack(per_step, 2).reshape(B, T, P * len(per_step))
    i = torch.arange(T, dtype=z.dtype)
    per_token = torch.stack([0 * i, (i >= C // P).to(z.dtype), i / T], 1)[None].expand(B, T, 3)
    lag_length = torch.log2(p.clamp_min(1).to(z.dtype)) / 9
    per_series = torch.cat([r, lag_length, torch.asinh(last), torch.asinh(drift)], 1)
    keys = torch.cat([(m.view(B, C // P, P) > 0).any(-1), torch.ones(B, H // P, dtype=torch.bool)], 1)
    tokens = torch.cat([per_step, per_token, per_series[:, None].expand(B, T, -1)], 2)
    return tokens.to(dtype), base.to(dtype), valid, loc, scale, keys


class RMSNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c["d_model"]
        self.heads = c["num_heads"]
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, x, cos, sin, keys):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        half = D // self.heads // 2

        def turn(u):
            a, b = u[..., :half], u[..., half:]
            return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

        y = F.scaled_dot_product_attention(turn(q), turn(k), v, attn_mask=keys[:, None, None, :])
        return self.o(y.transpose(1, 2).reshape(B, T, D))


class SwiGLU(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up = nn.Linear(c["d_model"], 2 * c["d_ff"], bias=False)
        self.down = nn.Linear(c["d_ff"], c["d_model"], bias=False)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * value)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1, self.attention = RMSNorm(c["d_model"], c["rms_eps"]), Attention(c)
        self.norm2, self.mlp = RMSNorm(c["d_model"], c["rms_eps"]), SwiGLU(c)

    def forward(self, x, cos, sin, keys):
        x = x + self.attention(self.norm1(x), cos, sin, keys)
        return x + self.mlp(self.norm2(x))


class PlinthTs(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        P, K, quantiles = c["patch_length"], c["lags"], len(c["quantiles"])
        self.input = nn.Linear(P * (2 + 2 * K) + 3 + 2 * K + 2, c["d_model"])
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["num_layers"]))
        self.norm, self.head = RMSNorm(c["d_model"], c["rms_eps"]), nn.Linear(c["d_model"], P * (quantiles + K + 3))

    def forward(self, context):
        """context [B, C] double, NaN = missing -> standardised quantiles [B, H, 9], loc [B], scale [B]."""
        c = self.c
        C, H, P, quantiles, bases = c["context_length"], c["horizon"], c["patch_length"], len(c["quantiles"]), c["lags"] + 3
        x, base, valid, loc, scale, keys = features(context, c, self.input.weight.dtype)
        half = c["d_model"] // c["num_heads"] // 2
        frequency = c["rope_theta"] ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.arange((C + H) // P, dtype=x.dtype)[:, None] * frequency[None]
        y = self.input(x)
        for block in self.blocks:
            y = block(y, angle.cos(), angle.sin(), keys)
        o = self.head(self.norm(y[:, C // P :]))
        q = o[..., : P * quantiles].reshape(-1, H, quantiles)
        w = o[..., P * quantiles :].reshape(-1, H, bases)
        w = w + torch.tensor([2.0] + [0.0] * (bases - 1), dtype=w.dtype)
        w = torch.softmax(w.masked_fill(valid == 0, -30.0), -1)
        middle = quantiles // 2
        mid = (w * base).sum(-1, keepdim=True) + q[..., middle : middle + 1]
        gap = F.softplus(q - 1.5)
        up = torch.cumsum(gap[..., middle + 1 :], -1)
        down = torch.flip(torch.cumsum(torch.flip(gap[..., :middle], [-1]), -1), [-1])
        return torch.cat([mid - down, mid, mid + up], -1), loc, scale


def pad_left(rows, c):
    """Packs contexts of any length into [B, C], gaps on the left, the last C values kept."""
    C = c["context_length"]
    out = torch.full((len(rows), C), float("nan"), dtype=torch.float64)
    for b, row in enumerate(rows):
        tail = torch.as_tensor(row, dtype=torch.float64)[-C:]
        if len(tail):
            out[b, C - len(tail) :] = tail
    return out


def forecast(net, context, horizon):
    """context: 1-d array with NaN gaps -> [horizon, 9] in the series' units.

    Beyond the model's horizon the medians are appended to the context and the model runs again.
    """
    y, out = torch.as_tensor(context, dtype=torch.float64), []
    while sum(len(o) for o in out) < horizon:
        with torch.no_grad():
            q, loc, scale = net(pad_left([y], net.c))
        q = q[0].double() * scale + loc
        out.append(q)
        y = torch.cat([y, q[:, len(net.c["quantiles"]) // 2]])
    return torch.cat(out)[:horizon].numpy()


def load(folder, dtype=torch.float32):
    """Reads a model folder (config.json, model.safetensors)."""
    from safetensors.torch import load_file

    with open(os.path.join(folder, "config.json")) as f:
        net = PlinthTs(json.load(f))
    net.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))
    return net.to(dtype).eval()
