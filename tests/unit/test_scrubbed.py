"""What another program says of a failure is never told with the tokens in it."""

import ast
from pathlib import Path

import pytest

from lab_helpers.errors import LabError

KIT = Path(__file__).parents[2] / "lab_helpers"
# These scrub, or look at an error's kind alone. Under LabError every word is scrubbed.
SAFE = {"scrubbed", "LabError", "said_by", "type", "isinstance", "_note"}
# What a LabError says is scrubbed already; rows that BigQuery did not take are the lab's own.
HARMLESS = {"what", "why", "next", "_render_traceback_", "left"}
WHOLE = {"format_exc", "print_exc", "exception"}
# The sandbox and the faults before it stand on this machine and hold no account.
SOURCES = [
    path
    for path in sorted(KIT.rglob("*.py"))
    if not {"sandbox", "faults"} & set(path.relative_to(KIT).parts)
]
TOKEN = "ya29.a0AfH6SMC-x"


def told(tree):
    """Lines where a caught error may go into a text unscrubbed: every use not known to be safe."""
    found = []

    def look(node, caught):
        if isinstance(node, ast.Compare):
            return
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SAFE:
            return
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in WHOLE:
            found.append(node.lineno)
        if isinstance(node, ast.Attribute) and node.attr in HARMLESS:
            return
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name | None):
            return
        if isinstance(node, ast.ExceptHandler) and node.name:
            caught = caught | {node.name}
        if isinstance(node, ast.Name) and node.id in caught:
            found.append(node.lineno)
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Raise) and child is node.cause):
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
        ("print(error)", True),
        ("print('%s' % error)", True),
        ("print('{}'.format(error))", True),
        ("log.warning('%s', error)", True),
        ("log.exception('no')", True),
        ("print(traceback.format_exc())", True),
        ("said = error.message", True),
        ("print(error.errors[0])", True),
        ("print(error.details())", True),
        ("print(f'{error.__cause__}')", True),
        ("raise RuntimeError(f'no: {error}') from error", True),
        ("print(f'{type(error).__name__}')", False),
        ("print(scrubbed(str(error)))", False),
        ("raise LabError('no', str(error)) from None", False),
        ("raise OSError('no') from error", False),
        ("raise error", False),
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
