"""Asks torch about its version, its modes and the precision that is in force; hides what differs by version."""

from __future__ import annotations

import inspect
import os
from typing import Any, Dict, Optional, Tuple

from .element_types import name_of_torch

# What autocast runs in a lower type, of the operators that Plinth recomputes.
LOWERED = frozenset(("linear", "matmul", "conv1d", "conv2d", "attention", "multihead_attention"))


def hook_options() -> Tuple[Dict[str, bool], Dict[str, bool]]:
    """What hooks may ask of this torch: keyword arguments (2.0), to be called after an exception too (2.1)."""
    import torch

    known = inspect.signature(torch.nn.Module.register_forward_hook).parameters
    return tuple({name: True} if name in known else {} for name in ("with_kwargs", "always_call"))  # type: ignore


def has_fused_attention(model) -> bool:
    """Whether torch may run attention of this model by its fused kernel for inference."""
    import torch

    backend = getattr(torch.backends, "mha", None)
    if backend is not None and not backend.get_fastpath_enabled():
        return False
    return any(isinstance(m, torch.nn.MultiheadAttention) and not m.training for m in model.modules())


def autocast_type(device_type: str):
    """The torch dtype that autocast rounds to on this kind of device; None where it is off."""
    import torch

    try:
        if torch.is_autocast_enabled(device_type):
            return torch.get_autocast_dtype(device_type)
        return None
    except TypeError:  # before 2.4: a function per device
        pass
    if device_type == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    if device_type == "cuda":
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
    return None


def lowered_type(op: str, tensor):
    """The dtype that autocast will round this input of an operator to; None: it stays."""
    import torch

    if op not in LOWERED or tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return None
    return autocast_type(tensor.device.type)


def is_compiling() -> bool:
    """Whether torch.compile is looking at the code rather than running it."""
    import torch

    compiler = getattr(torch, "compiler", None)
    if hasattr(compiler, "is_compiling"):
        return compiler.is_compiling()
    return False


def in_backward() -> bool:
    """Whether autograd is running, which may call modules again (checkpointing)."""
    import torch

    current = getattr(torch._C, "_current_graph_task_id", None)
    return current is not None and current() != -1


def rank_and_world() -> Tuple[int, int]:
    """From torch.distributed where it is initialised, else from the environment, else (0, 1)."""
    import torch

    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    try:
        rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    except ValueError:
        return 0, 1
    return (rank, world) if 0 <= rank < world else (0, 1)


def _cuda_switch(name: str) -> Optional[bool]:
    """A switch of torch's matrix products; None where this torch has none of that name."""
    import torch

    try:
        return bool(getattr(torch.backends.cuda.matmul, name))
    except (AttributeError, AssertionError):  # the latter in 1.13
        return None


def precision_of(model) -> Dict[str, Any]:
    """What decides the arithmetic: types of the weights, autocast, TF32, determinism. Asked inside the run."""
    import torch

    types: Dict[str, int] = {}
    device = "cpu"
    for parameter in model.parameters():
        name = name_of_torch(parameter.dtype) or str(parameter.dtype)
        types[name] = types.get(name, 0) + parameter.numel()
        device = parameter.device.type
    cast = autocast_type(device)
    matmul = getattr(torch, "get_float32_matmul_precision", lambda: None)()
    return {
        "weights": max(types, key=lambda name: types[name]) if types else None,
        "weight_types": types,
        "device": device,
        "autocast": None if cast is None else name_of_torch(cast),
        "grad": torch.is_grad_enabled(),
        "training": bool(model.training),
        "float32_matmul": matmul,
        "tf32_matmul": bool(torch.backends.cuda.matmul.allow_tf32),
        "tf32_convolution": bool(torch.backends.cudnn.allow_tf32),
        "fp16_reduced_reduction": _cuda_switch("allow_fp16_reduced_precision_reduction"),
        "bf16_reduced_reduction": _cuda_switch("allow_bf16_reduced_precision_reduction"),
        "cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
        "deterministic_algorithms": bool(torch.are_deterministic_algorithms_enabled()),
        "threads": torch.get_num_threads(),
    }


def device_names() -> Tuple[str, ...]:
    """The accelerators that torch sees."""
    import torch

    if not torch.cuda.is_available():
        return ()
    return tuple(torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count()))


def framework() -> Dict[str, Optional[str]]:
    import torch

    return {
        "framework": "torch",
        "framework_version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
    }
