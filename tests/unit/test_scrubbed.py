"""What another program says of a failure is never told with the tokens in it."""

import ast
from pathlib import Path

import pytest

from lab_helpers.errors import LabError

KIT = Path(__file__).parents[2] / "lab_helpers"
# Under LabError every word is scrubbed; the sandbox holds no account.
SAFE = {"scrubbed", "LabError"}
SOURCES = [p for p in sorted(KIT.rglob("*.py")) if "sandbox" not in p.relative_to(KIT).parts]
TOKEN = "ya29.a0AfH6SMC-x"


def told(tree):
    """Lines where the text of a caught error goes into another text unscrubbed."""
    found = []

    def look(node, caught):
        if isinstance(node, ast.Compare) or (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") in SAFE
        ):
            return
        if isinstance(node, ast.ExceptHandler) and node.name:
            caught = caught | {node.name}
        text = None
        if isinstance(node, ast.FormattedValue):
            text = node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"str", "repr"}:
            text = node.args[0] if node.args else None
        if isinstance(text, ast.Attribute) and text.attr in {"message", "args", "details"}:
            text = text.value
        if isinstance(text, ast.Name) and text.id in caught:
            found.append(node.lineno)
        for child in ast.iter_child_nodes(node):
            look(child, caught)

    look(tree, frozenset())
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(KIT)))
def test_no_failure_is_told_unscrubbed(path):
    assert told(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("print(f'no: {error}')", True),
        ("print(str(error))", True),
        ("print(f'{error.message}')", True),
        ("print(f'{type(error).__name__}')", False),
        ("print(scrubbed(str(error)))", False),
        ("raise LabError('no', str(error)) from None", False),
        ("print('429' in str(error))", False),
    ],
)
def test_the_search_sees_it(line, caught):
    tree = ast.parse(f"try:\n  go()\nexcept OSError as error:\n  {line}\n")
    assert bool(told(tree)) is caught


def test_a_lab_error_keeps_no_token():
    error = LabError("It failed.", f"the server said {TOKEN}", f"ask with {TOKEN}")
    assert TOKEN not in f"{error} {error._render_traceback_()}"
    assert error.why == "the server said …"
