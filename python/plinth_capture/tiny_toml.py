"""Reads the part of TOML that capture plans use, for Python before 3.11, which has no reader of its own."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

try:
    import tomllib
except ImportError:  # Python 3.10 and older
    tomllib = None


class TomlError(ValueError):
    """Says where the text is wrong, in one line."""


def parse(text: str) -> Dict[str, Any]:
    """The document as dictionaries and lists. Raises TomlError."""
    if tomllib is None:
        return parse_subset(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None


_KEY = re.compile(r"([A-Za-z0-9_-]+)[ \t]*=[ \t]*")
_TABLES = re.compile(r"\[\[[ \t]*([A-Za-z0-9_-]+)[ \t]*\]\][ \t]*(?:#.*)?$")
_BLANK = re.compile(r"[ \t]*(?:#[^\n]*)?")
_BETWEEN = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_BASIC = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\.)*)"')
_LITERAL = re.compile(r"'([^'\x00-\x08\x0a-\x1f\x7f]*)'")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9](?:_?[0-9])*)(?![0-9A-Za-z_.:-])")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


def parse_subset(text: str) -> Dict[str, Any]:
    """Comments, [[arrays of tables]], bare keys; texts in one line, integers, booleans, arrays of them."""
    text = text.replace("\r\n", "\n")
    document: Dict[str, Any] = {}
    table = document
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip(" \t")
        if not line or line.startswith("#"):
            at = end + 1
            continue
        header = _TABLES.match(line)
        if header:
            tables = document.setdefault(header.group(1), [])
            if not isinstance(tables, list):
                raise _wrong(text, at, "%s is a value already" % header.group(1))
            table = {}
            tables.append(table)
            at = end + 1
            continue
        at += len(text[at:end]) - len(text[at:end].lstrip(" \t"))
        key = _KEY.match(text, at)
        if not key:
            raise _wrong(text, at, "key = value or [[table]] is expected")
        if key.group(1) in table:
            raise _wrong(text, at, "%s stands twice" % key.group(1))
        table[key.group(1)], at = _value(text, key.end(), 0)
        at = _BLANK.match(text, at).end()
        if at < len(text) and text[at] != "\n":
            raise _wrong(text, at, "the end of the line is expected")
        at += 1
    return document


def _wrong(text: str, at: int, what: str) -> TomlError:
    line = text.count("\n", 0, at) + 1
    return TomlError("%s (at line %d, column %d)" % (what, line, at - (text.rfind("\n", 0, at) + 1) + 1))


def _value(text: str, at: int, depth: int) -> Tuple[Any, int]:
    basic = _BASIC.match(text, at)
    if basic and not text.startswith('"""', at):
        return _unescaped(text, at, basic.group(1)), basic.end()
    literal = _LITERAL.match(text, at)
    if literal and not text.startswith("'''", at):
        return literal.group(1), literal.end()
    for word, value in (("true", True), ("false", False)):
        if re.compile(word + r"(?![A-Za-z0-9_-])").match(text, at):
            return value, at + len(word)
    number = _INTEGER.match(text, at)
    if number:
        return int(number.group(0).replace("_", "")), number.end()
    if text.startswith("[", at) and depth < 8:
        return _array(text, at + 1, depth)
    raise _wrong(text, at, "a text in one line, an integer, true, false or an array of them is expected")


def _array(text: str, at: int, depth: int) -> Tuple[List[Any], int]:
    values: List[Any] = []
    while True:
        at = _BETWEEN.match(text, at).end()
        if text.startswith("]", at):
            return values, at + 1
        value, at = _value(text, at, depth + 1)
        values.append(value)
        at = _BETWEEN.match(text, at).end()
        if text.startswith(",", at):
            at += 1
        elif not text.startswith("]", at):
            raise _wrong(text, at, "a comma or ] is expected")


def _unescaped(text: str, at: int, body: str) -> str:
    def one(match):
        code = match.group(1)
        if code[0] in "uU":
            point = int(code[1:], 16)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                raise _wrong(text, at, "\\%s is no character" % code)
            return chr(point)
        if code not in _ESCAPES:
            raise _wrong(text, at, "\\%s is no escape" % code)
        return _ESCAPES[code]

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", one, body)
