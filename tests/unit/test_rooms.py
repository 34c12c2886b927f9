"""Imports point down only, and no file names a machine or a registry."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KIT = ROOT / "lab_helpers"

# Every room and those it may import. The command line and its commands sit on top.
TOP = {"__main__", "colab", "demo", "doctor", "refresh", "student", "verify"}
BELOW = {
    "errors": set(),
    "bootstrap": set(),
    "sandbox": set(),
    "config": {"errors", "sandbox"},
    "stores": {"config", "errors"},
    "provision": {"stores", "config", "errors"},
    "agents": {"stores", "config", "errors"},
    "checks": {"agents", "provision", "stores", "config", "errors", "lab"},
    "plain_sql": {"sandbox", "stores"},
    "cloud_preflight": {"stores", "config", "errors"},
    "preflight": {"lab"},
    "ui": {"agents", "stores", "config", "errors", "lab"},
    "faults": {"ui", "agents", "stores", "sandbox", "config", "errors", "lab"},
    "lab": {
        "faults",
        "ui",
        "checks",
        "cloud_preflight",
        "plain_sql",
        "preflight",
        "agents",
        "provision",
        "stores",
        "config",
        "errors",
    },
    "__init__": {"lab"},
}


# What Colab's image lacks: the sandbox runs in an environment of its own there.
NOT_ON_COLAB = ("duckdb", "sqlglot", "bqemulator", "google.cloud.dataplex_v1")


def test_a_lab_in_the_sandbox_needs_nothing_that_colab_lacks():
    """`plain_sql` apart, which only a cloud project without GQL asks for."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(KIT.rglob("*.py"))
        if room(path) not in {"sandbox", "plain_sql", "__main__"}
    ]
    code = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({NOT_ON_COLAB}))
for name in {modules}:
    importlib.import_module(name)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-800:]


def room(path):
    return path.relative_to(KIT).parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "lab_helpers":
                names = [f"lab_helpers.{a.name}" for a in node.names]
        for name in names:
            if name.startswith("lab_helpers."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", sorted(KIT.rglob("*.py")), ids=lambda p: str(p.relative_to(KIT)))
def test_imports_point_down(path):
    here = room(path)
    if here in TOP:
        return
    wrong = set(imported_rooms(path)) - BELOW[here] - {here}
    assert not wrong, f"{path.name} imports {wrong}"


def tracked():
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = found.stdout.splitlines() or [str(p.relative_to(ROOT)) for p in KIT.rglob("*.py")]
    return [ROOT / f for f in files if not f.endswith((".png", ".lock"))]


def test_no_file_names_a_machine_or_a_registry():
    marks = re.compile(
        r"/(?:root|home/\w+|Users)/\w|file:///|/opt/pypi|index-url\s*=|pypi\.org/simple"
    )
    for path in tracked():
        if path.exists() and path != Path(__file__):
            found = marks.search(path.read_text(encoding="utf-8", errors="ignore"))
            assert not found, (path.name, found.group())


def test_every_dependency_says_why_it_is_there():
    notes = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    from lab_helpers.bootstrap import RUN

    for line in RUN.read_text(encoding="utf-8").splitlines():
        name = re.split(r"[\[<>=!~ ]", line.split("#")[0].strip())[0]
        short = name.replace("google-cloud", "")
        assert not name or name in notes or short in notes, name


def test_the_bootstrap_needs_nothing_but_python():
    tree = ast.parse((KIT / "bootstrap.py").read_text(encoding="utf-8"))
    used = {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    used |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert used <= sys.stdlib_module_names
