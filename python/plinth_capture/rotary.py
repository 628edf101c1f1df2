"""Makes rotary embeddings visible, which are neither modules nor functions of torch.

Transformer packages write them as a function `apply_rotary_pos_emb(q, k, cos, sin, ...)` beside the model's classes.
While operators are recorded, that function is wrapped, once it has shown on a small example that it is one of the two
forms that Plinth recomputes; it computes what it always did.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Callable, List, Optional, Tuple

from .functions import Call
from .ports import Arguments, parameters_of
from .recorder import Recorder

_NAME = "apply_rotary_pos_emb"


class RotaryFunctions:
    """Wraps the functions of a model's packages until `restore`."""

    def __init__(self, recorder: Recorder, model):
        self._changed: List[Tuple[Any, Callable]] = []
        for home in {sys.modules.get(type(module).__module__) for module in model.modules()}:
            function = getattr(home, _NAME, None)
            if not isinstance(function, types.FunctionType) or hasattr(function, "plinth_wrapped"):
                continue
            with recorder.working():
                style = style_of(function)
            if style is not None:
                setattr(home, _NAME, _wrapped(function, style))
                self._changed.append((home, function))

    def restore(self) -> None:
        for home, function in self._changed:
            setattr(home, _NAME, function)
        self._changed.clear()


def _turned(x, cos, sin, style: str):
    import torch

    half = x.shape[-1] // 2
    if style == "halves":
        other = torch.cat([-x[..., half:], x[..., :half]], -1)
    else:
        other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * cos + other * sin


def style_of(function: Callable) -> Optional[str]:
    """ "halves" or "interleaved" where the function turns by cos and sin tables in that way, else None."""
    import torch

    if [p.name for p in parameters_of(function)][:4] != ["q", "k", "cos", "sin"]:
        return None
    with torch.no_grad():
        q = torch.linspace(-1, 2, 24).view(1, 2, 3, 4)
        k = torch.linspace(3, -2, 12).view(1, 1, 3, 4)
        cos, sin = torch.linspace(0.5, 1, 12).view(1, 3, 4), torch.linspace(-1, 0.75, 12).view(1, 3, 4)
        try:
            found = function(q, k, cos, sin)
            for style in ("halves", "interleaved"):
                if all(torch.allclose(y, _turned(x, cos[:, None], sin[:, None], style)) for x, y in zip((q, k), found)):
                    return style
        except Exception:
            pass  # another function of the same name
    return None


def _wrapped(function: Callable, style: str) -> Callable:
    parameters = parameters_of(function)
    axis = next((p.default for p in parameters if p.name == "unsqueeze_dim"), 1)

    @functools.wraps(function)
    def call(*args, **kwargs):
        from .session import current_recorder

        recorder = current_recorder()
        if recorder is None or recorder.within_operator:
            return function(*args, **kwargs)
        given = Arguments(parameters, args, kwargs).named()
        at = given.get("unsqueeze_dim", axis)
        with recorder.working():
            tables = [(1, "cos", given["cos"].unsqueeze(at)), (2, "sin", given["sin"].unsqueeze(at))]

        def execute():
            with recorder.operator_body():
                return function(*args, **kwargs)

        def of_keys():
            return recorder.run(
                Call("rotary", [(0, "k", given["k"])] + tables, {"style": style}),
                execute,
                False,
                lambda found: found[1],
            )

        return recorder.run(
            Call("rotary", [(0, "q", given["q"])] + tables, {"style": style}), of_keys, False, lambda found: found[0]
        )

    call.plinth_wrapped = True  # type: ignore[attr-defined]
    return call
