"""Decides which entries a capture takes, and which of them in full."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple, Union

from .plan import DIRECTIONS, Plan, Record, matches

NOTHING, STATISTICS, FULL = 0, 1, 2
ROOT = "(root)"  # the name of the model itself
OUTSIDE = "(outside)"  # of what runs outside of every module, such as the choice of a token


def _ancestors(path: str) -> List[str]:
    """The path and what it lies in: a.b.c, a.b, a."""
    parts = path.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


class Selection:
    """What to record: by a plan where it lists records, which then alone decides, else everything of the level.

    Args:
      plan: see plan.py.
      level: "module" or "operator".
      full: patterns of names whose tensors are written; True for all.
      statistics: record what no pattern of `full` names as statistics.
    """

    def __init__(self, plan: Optional[Plan], level: str, full: Union[bool, Sequence[str]], statistics: bool):
        if plan is not None and plan.records:
            self._records = plan.records
            self._base, self._level = NOTHING, "module"
        else:
            patterns = ["*"] if full is True else list(full or ())
            self._records = tuple(Record(p, "full") for p in patterns)
            self._base, self._level = STATISTICS if statistics else NOTHING, level
        self.operators = self._level == "operator" or any(r.operators or "/" in r.name for r in self._records)
        self._known: Dict[Tuple[str, str, str, bool], int] = {}

    def module(self, name: str, base: str, direction: str, is_operator: bool) -> int:
        """For a module's entry. name: with the number of the call ("a.b#1"); base: without."""
        key = (name, "", direction, is_operator)
        if key not in self._known:
            self._known[key] = self._decide_module(name, base, direction, is_operator)
        return self._known[key]

    def _decide_module(self, name, base, direction, is_operator) -> int:
        best = self._base
        for record in self._records:
            named = matches(record.name, name) or matches(record.name, base)
            if not named and record.operators and is_operator:
                named = self._inside(record, base)
            if named and direction in record.direction:
                best = max(best, FULL if record.what == "full" else STATISTICS)
        return best

    def _inside(self, record: Record, base: str) -> bool:
        return record.name == ROOT or any(matches(record.name, a) for a in _ancestors(base))

    def operator(self, path: str, base: str, operator: str, direction: str) -> int:
        """For a functional operator. path, base: the module's; operator: such as "softmax.0"."""
        key = (path, operator, direction, True)
        if key not in self._known:
            self._known[key] = self._decide_operator(path, base, operator, direction)
        return self._known[key]

    def _decide_operator(self, path, base, operator, direction) -> int:
        best = self._base if self._level == "operator" else NOTHING
        names = ("%s/%s" % (path, operator), "%s/%s" % (base, operator))
        for record in self._records:
            # A pattern for modules, such as "*", means operators only where operators are asked for.
            wanted = self._level == "operator" or record.operators or "/" in record.name
            named = wanted and any(matches(record.name, n) for n in names)
            if not named and record.operators:
                named = self._inside(record, base)
            if named and direction in record.direction:
                best = max(best, FULL if record.what == "full" else STATISTICS)
        return best


__all__ = ["DIRECTIONS", "FULL", "NOTHING", "OUTSIDE", "ROOT", "STATISTICS", "Selection"]
