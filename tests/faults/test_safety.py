"""What the kit's code may not do, whatever is sent to it."""

import ast

import pytest

from lab_helpers.config import ROOT

KIT = sorted((ROOT / "lab_helpers").rglob("*.py"))
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
EVALUATES = {"eval", "exec", "__import__"}


@pytest.mark.parametrize("path", KIT, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_unpickles_or_evaluates_what_it_is_sent(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {a.name.split(".")[0] for a in node.names} & UNSAFE
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in UNSAFE
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in EVALUATES


@pytest.mark.parametrize("name", ["../outside", "..%2Foutside", "/etc/x", "a/../../b", "C:\\x"])
def test_no_database_name_leads_out_of_the_sandboxs_folder(lab, lab_home, name):
    before = {p for p in lab_home.parent.rglob("*") if lab_home not in p.parents}
    database = lab.spanner.instance(lab.config.instance).database(name)
    with pytest.raises(Exception):  # noqa: B017 (the client or the service may be the one to refuse)
        database.create().result(10)
    assert {p for p in lab_home.parent.rglob("*") if lab_home not in p.parents} == before
