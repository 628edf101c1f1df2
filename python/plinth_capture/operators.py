"""Makes functions of your own visible as operators."""

from __future__ import annotations

import functools
from typing import Callable, List, Optional, Sequence

from .functions import Call
from .modules import plain
from .ports import Arguments, parameters_of, tensors_in


def operator(op: str, inputs: Optional[Sequence[str]] = None) -> Callable:
    """Decorates a function of tensors: where a capture records operators, each call is an entry `PATH/op.N`.

    Tensor arguments are its inputs, other arguments its attributes; torch functions inside are not recorded apart.
    A name of Plinth's (docs/operators.md) makes it recomputable; for another one give a
    reference (`plinth_capture.reference`).

    Args:
      op: the operator's name.
      inputs: names of the arguments that are ports 0, 1, ...; by default tensors in the order of the signature.
    """

    def decorate(function: Callable) -> Callable:
        parameters = parameters_of(function)

        @functools.wraps(function)
        def call(*args, **kwargs):
            from .session import current_recorder

            recorder = current_recorder()
            if recorder is None or recorder.within_operator:
                return function(*args, **kwargs)
            described = _describe(op, Arguments(parameters, args, kwargs), inputs)

            def execute():
                with recorder.operator_body():
                    return function(*args, **kwargs)

            return recorder.run(described, execute, False)

        return call

    return decorate


def _describe(op: str, arguments: Arguments, inputs: Optional[Sequence[str]]) -> Call:
    ports: List = []
    attributes = {}
    for name, value in arguments.named().items():
        found = list(tensors_in(value, name))
        if inputs is not None:
            ports.extend((inputs.index(name), n, t) for n, t in found if name in inputs)
        else:
            ports.extend((len(ports) + i, n, t) for i, (n, t) in enumerate(found))
        if not found and isinstance(value, (bool, int, float, str, list, tuple)):
            attributes[name] = plain(value)
    return Call(op, sorted(ports, key=lambda p: p[0]), attributes)
