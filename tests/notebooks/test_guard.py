"""A notebook that was not executed would pass a strict comparison while comparing nothing."""

import json
import re
from pathlib import Path

import pytest

from lab_helpers import colab

README = Path(__file__).parents[2] / "README.md"
START = "00_start_here.ipynb"
FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_LINES = 15
# What a minute holds: words read, cells run and looked at, and an exercise thought about.
WORDS, CELL_S, EXERCISE_S = 200, 20, 70
MOST_IGNORED = 4


def _cells(path, kind):
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def _source(cell):
    return "".join(cell["source"])


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
class TestNotebook:
    def test_every_cell_ran_once_from_top_to_bottom(self, path):
        counts = [c["execution_count"] for c in _cells(path, "code")]
        assert counts == list(range(1, len(counts) + 1))

    def test_most_cells_keep_an_output(self, path):
        cells = _cells(path, "code")
        assert sum(bool(c["outputs"]) for c in cells) >= 0.6 * len(cells)

    def test_errors_only_where_they_are_meant(self, path):
        for cell in _cells(path, "code"):
            failed = any(o["output_type"] == "error" for o in cell["outputs"])
            assert failed == ("raises-exception" in cell["metadata"].get("tags", []))

    def test_no_widget_state_and_no_widget_views(self, path):
        text = path.read_text()
        assert "widgets" not in json.loads(text)["metadata"]
        assert "application/vnd.jupyter.widget-view+json" not in text

    def test_cells_are_short_and_few_go_uncompared(self, path):
        sources = [_source(c) for c in _cells(path, "code")]
        assert max(len(s.splitlines()) for s in sources) <= MOST_LINES
        assert sum("NBVAL_IGNORE_OUTPUT" in s for s in sources) <= MOST_IGNORED

    def test_first_screen_says_what_how_long_and_where(self, path):
        first = _source(_cells(path, "markdown")[0])
        assert first.startswith("# ") and "**You will see**" in first
        assert "minutes" in first and "Colab" in first

    def test_nothing_of_a_machine_is_kept(self, path):
        kept = r"/(?:home|root|tmp)/|127\.0\.0\.1:|Traceback"
        assert re.findall(kept, path.read_text()) == []

    def test_links_and_pictures_lead_somewhere(self, path):
        for cell in _cells(path, "markdown"):
            for target in re.findall(r"\]\((?!https?:)([^)#]+)", _source(cell)):
                assert (FOLDER / target).exists(), target

    def test_the_first_code_cell_finds_the_kit_and_is_folded(self, path):
        first = _cells(path, "code")[0]
        assert _source(first) == colab.CELL, "run: python -m lab_helpers refresh"
        assert first["metadata"]["jupyter"]["source_hidden"] is True
        assert first["metadata"]["cellView"] == "form"
        assert not any("sys.path" in _source(cell) for cell in _cells(path, "code")[1:])

    def test_its_minutes_are_those_of_the_map(self, path):
        (minutes,) = re.findall(r"\*\*(\d+) minutes", _source(_cells(path, "markdown")[0]))
        maps = [README.read_text(encoding="utf-8"), (FOLDER / START).read_text(encoding="utf-8")]
        for text in maps if path.name != START else maps[:1]:
            told = re.search(rf"{re.escape(path.name)}\) \| (\d+) \|", text)
            assert told and told[1] == minutes

    def test_its_minutes_are_enough_and_not_far_too_many(self, path):
        (stated,) = re.findall(r"\*\*(\d+) minutes", _source(_cells(path, "markdown")[0]))
        code = _cells(path, "code")
        exercises = sum("solution" in c["metadata"].get("tags", []) for c in code)
        prose = " ".join(_source(c) for c in _cells(path, "markdown"))
        words = len(re.findall(r"\w+", re.sub(r"<[^>]+>|\]\([^)]+\)", "", prose)))
        needed = words / WORDS + (len(code) * CELL_S + exercises * EXERCISE_S) / 60
        assert needed <= int(stated) <= needed + 3
