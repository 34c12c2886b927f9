"""The register of functions: a name, and the rule that translates a call of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from .calls import arguments_of, name_of
from .elements import Value
from .errors import error_at
from .scope import Scope

if TYPE_CHECKING:
    from .expressions import Translator

Rule = Callable[["Translator", exp.Expression, Scope], "Value | None"]
RULES: dict[str, Rule] = {}

RESULT_TYPES = {
    "ARRAY_LENGTH": "BIGINT",
    "LENGTH": "BIGINT",
    "CHAR_LENGTH": "BIGINT",
    "CONCAT": "VARCHAR",
    "LOWER": "VARCHAR",
    "UPPER": "VARCHAR",
    "TRIM": "VARCHAR",
    "SUBSTRING": "VARCHAR",
    "FORMAT": "VARCHAR",
    "SPLIT": "VARCHAR[]",
    "GENERATE_ARRAY": "BIGINT[]",
    "PARSE_JSON": "JSON",
    "JSON_QUERY": "JSON",
    "JSON_VALUE": "VARCHAR",
    "ROUND": "DOUBLE",
    "STARTS_WITH": "BOOLEAN",
    "ENDS_WITH": "BOOLEAN",
}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def only(node: exp.Expression, count: int) -> list[exp.Expression]:
    found = arguments_of(node)
    if len(found) != count:
        raise error_at(
            node, f"{name_of(node)} takes {count} argument(s), but {len(found)} are given"
        )
    return found
