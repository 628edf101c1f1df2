"""Finds the tensors in what goes into a module or comes out of it, in a fixed order, and puts others in their place."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Callable, Iterator, List, Tuple

_DEPTH = 16  # levels of nesting; deeper ones are not looked into


def _children(value) -> List[Tuple[str, Any]]:
    """The parts of a container with their names, in its own order; nothing for what is no container."""
    if isinstance(value, dict):
        return [(str(k), v) for k, v in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    return []


def tensors_in(value, name: str = "", depth: int = 0) -> Iterator[Tuple[str, Any]]:
    """Yields (name, tensor): depth first, containers in their own order. Names join fields by dots."""
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth < _DEPTH:
        for part, child in _children(value):
            yield from tensors_in(child, "%s.%s" % (name, part) if name else part, depth + 1)


def replace_tensors(value, pick: Callable[[int, Any], Any]):
    """Gives the same structure with the tensor of each port replaced by pick(port, tensor). Dictionaries and lists
    are changed in copies; so are dataclasses and named tuples."""
    counter = [0]
    return _replace(value, pick, counter, 0)


def _replace(value, pick, counter, depth):
    import copy

    import torch

    if isinstance(value, torch.Tensor):
        port, counter[0] = counter[0], counter[0] + 1
        return pick(port, value)
    if depth >= _DEPTH or not _children(value):
        return value
    if isinstance(value, dict):
        if dataclasses.is_dataclass(value):  # such as the outputs of transformers: fields and keys are one
            result = copy.copy(value)
            for k in list(value.keys()):
                result[k] = _replace(value[k], pick, counter, depth + 1)
            return result
        result = copy.copy(value)
        for k in value:
            result[k] = _replace(value[k], pick, counter, depth + 1)
        return result
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_replace(v, pick, counter, depth + 1) for v in value])
    if isinstance(value, (list, tuple)):
        parts = [_replace(v, pick, counter, depth + 1) for v in value]
        return parts if type(value) is list else type(value)(parts)
    changed = {n: _replace(v, pick, counter, depth + 1) for n, v in _children(value)}
    result = copy.copy(value)
    for field, part in changed.items():
        object.__setattr__(result, field, part)
    return result


def parameters_of(function: Callable) -> List[inspect.Parameter]:
    """The function's parameters without `self`; none where Python cannot tell."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


class Arguments:
    """The arguments of one call in the order of the function's signature, so that a call by keyword has the ports of
    one by position. What the signature gathers in ** comes last, sorted by name."""

    def __init__(self, parameters: List[inspect.Parameter], args: tuple, kwargs: dict):
        self._args, self._kwargs = args, kwargs
        self._order: List[Tuple[str, Any]] = []  # (name, position or keyword)
        named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        gathers = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "")
        keywords = set(kwargs)
        for name in named[: len(args)]:
            self._order.append((name, len(self._order)))
        for position in range(len(self._order), len(args)):
            self._order.append(("%s.%d" % (gathers, position - len(named)) if gathers else str(position), position))
        for p in parameters:
            if p.name in keywords and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                self._order.append((p.name, p.name))
                keywords.discard(p.name)
        self._order.extend((name, name) for name in sorted(keywords))

    def _value(self, at):
        return self._args[at] if isinstance(at, int) else self._kwargs[at]

    def tensors(self) -> Iterator[Tuple[str, Any]]:
        for name, at in self._order:
            yield from tensors_in(self._value(at), name)

    def named(self) -> dict:
        return {name: self._value(at) for name, at in self._order}

    def replaced(self, pick: Callable[[int, Any], Any]) -> Tuple[tuple, dict]:
        """(args, kwargs) with the tensor of each port replaced by pick(port, tensor)."""
        args, kwargs, counter = list(self._args), dict(self._kwargs), [0]
        for _, at in self._order:
            part = _replace(self._value(at), pick, counter, 0)
            if isinstance(at, int):
                args[at] = part
            else:
                kwargs[at] = part
        return tuple(args), kwargs
