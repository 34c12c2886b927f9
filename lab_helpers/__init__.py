"""The System-of-Action lab kit. `from lab_helpers import Lab` is all a notebook needs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab_helpers.lab import Lab

__all__ = ["Lab"]


def __getattr__(name: str) -> Any:
    # Late, so that `python -m lab_helpers` can run on a bare Python and set the rest up.
    if name == "Lab":
        from lab_helpers.lab import Lab

        return Lab
    raise AttributeError(name)
