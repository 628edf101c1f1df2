"""Reads a capture plan: what to record and what to replace, as `plinth locate --next-plan` writes it."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import CaptureError
from .tiny_toml import TomlError, parse

SCHEMA = "plinth.capture-plan/1"
DIRECTIONS = ("input", "output")


class Record(NamedTuple):
    """Entries to record. `name` is a module's path, an operator's name, or a pattern in which * is anything."""

    name: str
    what: str = "statistics"  # or "full"
    direction: Tuple[str, ...] = DIRECTIONS
    operators: bool = False


class Replace(NamedTuple):
    """A module whose outputs are replaced by those of a capture."""

    name: str
    capture: str  # folder


class Plan(NamedTuple):
    records: Tuple[Record, ...] = ()
    replaces: Tuple[Replace, ...] = ()
    forced_by: Optional[str] = None  # folder of the capture whose inputs and outputs are fed to each recorded module


def matches(pattern: str, name: str) -> bool:
    """Whether a name is meant: `*` stands for any text, also an empty one; everything else for itself."""
    if "*" not in pattern:
        return pattern == name
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch(".*".join(parts), name, re.S) is not None


def load(plan: Union[None, str, os.PathLike, Dict[str, Any], Plan]) -> Optional[Plan]:
    """A plan from a file, a dictionary of the same form, or as it is. Raises CaptureError."""
    if plan is None or isinstance(plan, Plan):
        return plan
    if isinstance(plan, dict):
        return _checked(plan, "the plan", "")
    path = os.fspath(plan)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CaptureError("%s: the plan cannot be read: %s" % (path, error)) from None
    try:
        value = parse(text)
    except TomlError as error:
        raise CaptureError("%s: %s" % (path, error)) from None
    return _checked(value, path, os.path.dirname(os.path.abspath(path)))


def _fail(where: str, text: str):
    raise CaptureError("%s: %s" % (where, text))


def _known(table, keys: Sequence[str], where: str) -> None:
    for key in table:
        if key not in keys:
            _fail(where, 'has the key "%s"; known are %s' % (key, ", ".join(keys)))


def _checked(value: Dict[str, Any], where: str, folder: str) -> Plan:
    _known(value, ("schema", "forced_by", "record", "replace"), where)
    if value.get("schema") != SCHEMA:
        _fail(where, 'schema is %r; "%s" is right' % (value.get("schema"), SCHEMA))
    forced = value.get("forced_by")
    if forced is not None and not isinstance(forced, str):
        _fail(where, "forced_by is no text; the folder of a capture is right")
    records = [_record(t, "%s: record %d" % (where, i + 1)) for i, t in enumerate(_tables(value, "record", where))]
    replaces = []
    for number, table in enumerate(_tables(value, "replace", where)):
        here = "%s: replace %d" % (where, number + 1)
        _known(table, ("name", "capture"), here)
        replaces.append(Replace(_text(table, "name", here), os.path.join(folder, _text(table, "capture", here))))
    return Plan(tuple(records), tuple(replaces), None if forced is None else os.path.join(folder, forced))


def _tables(value, key: str, where: str) -> List[Dict[str, Any]]:
    tables = value.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        _fail(where, "%s is no list of tables; write [[%s]]" % (key, key))
    return tables


def _text(table, key: str, where: str) -> str:
    text = table.get(key)
    if not isinstance(text, str) or not text:
        _fail(where, "%s is %r; a text is right" % (key, text))
    return text


def _record(table, where: str) -> Record:
    _known(table, ("name", "what", "direction", "operators"), where)
    what = table.get("what", "statistics")
    if what not in ("statistics", "full"):
        _fail(where, 'what is %r; "statistics" or "full" is right' % (what,))
    direction = table.get("direction", list(DIRECTIONS))
    if isinstance(direction, str):
        direction = [direction]
    if not isinstance(direction, (list, tuple)) or not direction or any(d not in DIRECTIONS for d in direction):
        _fail(where, 'direction is %r; a list of "input" and "output" is right' % (direction,))
    operators = table.get("operators", False)
    if not isinstance(operators, bool):
        _fail(where, "operators is %r; true or false is right" % (operators,))
    return Record(_text(table, "name", where), what, tuple(direction), operators)
