"""Student notebooks from the solved ones: cells tagged "solution" become stubs, their checks stay.

The notebooks in notebooks/ are the answer key and the tested source. A stub binds what the checks
ask for to None, so that the notebook runs from top to bottom and each check says "not yet".
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lab_helpers.bootstrap import ROOT
from lab_helpers.errors import LabError

SOURCE = ROOT / "notebooks"
FOLDER = SOURCE / "student"
# A talk has no exercises.
NOT_FOR_STUDENTS = ("instructor_demo",)
SOLUTION = "solution"
_CALL = re.compile(r"\blab\.check\(")
_LINK = re.compile(r"(\]\()(?!https?:|#)([^)#]+)")

_PUBLISHED = "/blob/main/notebooks/"
_NOTE = (
    "\n\n*Student version: fill in what says “your answer here”, then run the check."
    " The [solved notebook]({solved}) is the answer key.*"
)

Cell = dict[str, Any]


def run(folder: str | None) -> int:
    """Write every student notebook into `folder` and say which changed."""
    target = Path(folder) if folder else FOLDER
    for path in sources():
        print(f"{target / path.name}: {'changed' if write(path, target) else 'unchanged'}")
    return 0


def sources() -> list[Path]:
    """The notebooks that have a student version."""
    found = sorted(SOURCE.glob("*.ipynb"))
    return [path for path in found if path.stem not in NOT_FOR_STUDENTS]


def write(path: Path, folder: Path = FOLDER) -> bool:
    """Write one student notebook into `folder`; True when a byte changed."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / path.name
    made = text(path)
    if target.exists() and target.read_text(encoding="utf-8") == made:
        return False
    target.write_text(made, encoding="utf-8")
    return True


def text(path: Path) -> str:
    """The student version of one notebook, as the text of its file."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] = student_cells(notebook["cells"])
    if any("exercise" in cell["metadata"].get("tags", []) for cell in notebook["cells"]):
        notebook["cells"][0]["source"] += _lines(_NOTE.format(solved=f"../{path.name}"))
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def student_cells(cells: Iterable[Cell]) -> list[Cell]:
    """The cells with stubs for solutions. Stubs, and the checks of what they bind, have no output.

    Raises LabError for a solution that is not plain Python.
    """
    cells = [copy.deepcopy(cell) for cell in cells]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    known: set[str] = set()
    unsolved: set[str] = set()
    for at, cell in enumerate(code):
        source = "".join(cell["source"])
        if SOLUTION in cell["metadata"].get("tags", []):
            asked = _asked(code[at:])
            bound = _bound(source)
            unsolved |= bound
            source = _stub(source, sorted((bound & asked) - known))
            _rewrite(cell, source)
            cell["metadata"]["tags"] = ["exercise"]
        elif _CALL.search(source) and _names(source) & unsolved:
            _rewrite(cell, source)
        else:
            known |= _bound(source, strict=False)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            told = _LINK.sub(_moved, "".join(cell["source"]))
            cell["source"] = _lines(told.replace(_PUBLISHED, f"{_PUBLISHED}student/"))
    return cells


def _stub(source: str, wanted: list[str]) -> str:
    """What a student finds: a place for each answer, and the checks of the solution."""
    places = [f"{name} = None  # your answer here" for name in wanted]
    places = places or ["# your answer here"]
    checks = [
        ast.get_source_segment(source, node) or ""
        for node in _parsed(source).body
        if isinstance(node, ast.Expr) and _CALL.match(ast.unparse(node))
    ]
    return "\n".join([*places, *([""] if checks else []), *checks])


def _asked(cells: Iterable[Cell]) -> set[str]:
    """The names that the checks of these cells are given."""
    sources = ("".join(cell["source"]) for cell in cells)
    return {name for source in sources if _CALL.search(source) for name in _names(source)}


def _names(source: str) -> set[str]:
    """The names in the arguments of the checks in a cell."""
    return {
        name.id
        for call in ast.walk(_parsed(source))
        if isinstance(call, ast.Call) and _CALL.match(ast.unparse(call))
        for given in (*call.args, *(word.value for word in call.keywords))
        for name in ast.walk(given)
        if isinstance(name, ast.Name)
    }


def _bound(source: str, strict: bool = True) -> set[str]:
    """The names that a cell binds at its top level."""
    try:
        body = _parsed(source).body
    except LabError:
        if strict:
            raise
        return set()  # a magic
    return {name for node in body for name in _binds(node)}


def _binds(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def _parsed(source: str) -> ast.Module:
    try:
        return compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        raise LabError(
            "A solution or a check is not plain Python.",
            f"{error.msg}: {source.splitlines()[0]}",
            "Put magics and shell commands into a cell of their own, without the tag.",
        ) from None


def _rewrite(cell: Cell, source: str) -> None:
    cell["source"], cell["outputs"], cell["execution_count"] = _lines(source), [], None


def _moved(link: re.Match[str]) -> str:
    # Student notebooks lie beside each other; everything else is one folder up.
    target = Path(link[2])
    beside = target.suffix == ".ipynb" and target.stem not in NOT_FOR_STUDENTS
    return link[1] + (link[2] if beside else f"../{link[2]}")


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
