"""What counts as set up."""

import pytest

from lab_helpers import bootstrap


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("pytest", True),
        ("pytest>=1", True),
        ("# only a comment\n\npytest  # why\n", True),
        ("pytest==0.0.1", False),
        ("no-such-distribution-here", False),
        ("bigquery-magics[spanner-graph-notebook]>=0.14,<1", True),
        ("pytest!=3", True),
    ],
)
def test_what_a_requirements_file_needs(tmp_path, text, met):
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    assert bootstrap.satisfied(path) is met


def test_a_file_may_include_another(tmp_path):
    (tmp_path / "base.txt").write_text("no-such-distribution-here\n")
    path = tmp_path / "more.txt"
    path.write_text("-r base.txt\npytest\n")
    assert bootstrap.satisfied(path) is False


def test_an_environment_that_stays_incomplete_stops_instead_of_looping(tmp_path, monkeypatch):
    path = tmp_path / "requirements.txt"
    path.write_text("no-such-distribution-here\n")
    monkeypatch.setenv("LAB_BOOTSTRAPPED", "1")
    with pytest.raises(SystemExit, match="delete the folder"):
        bootstrap.ensure(path, ["demo"])
