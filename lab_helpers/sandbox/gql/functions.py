"""Every function rule, gathered: importing this module fills the register."""

from __future__ import annotations

from . import (  # noqa: F401  each registers its rules
    array_functions,
    choice_functions,
    element_functions,
    json_functions,
    path_functions,
    time_functions,
)
from .registry import RESULT_TYPES, RULES

__all__ = ["RESULT_TYPES", "RULES"]
