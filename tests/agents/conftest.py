import pytest

from lab_helpers.faults import gemini as stub


@pytest.fixture
def gemini():
    """A local Gemini, reached by the real google-genai client."""
    with stub.running() as server:
        yield server
