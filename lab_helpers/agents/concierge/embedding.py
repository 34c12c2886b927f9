"""Texts as vectors: wordllama on this machine, or the project's Gemini embedding model.

A similarity means something only beside others of the same model, so a model's thresholds stand
with it in data/coffee/embedding_models.json.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lab_helpers.agents.concierge import wording
from lab_helpers.agents.model import Model
from lab_helpers.errors import LabError
from lab_helpers.stores import schema
from lab_helpers.stores.coffee import CoffeeStore, Product

LOCAL, GEMINI = "wordllama-256", "gemini-embedding-001"
# The service takes texts in batches; a batch must end within the model's deadline.
_BATCH = 20


@dataclass(frozen=True)
class Profile:
    """A model and what counts as near in it (least cosine similarity)."""

    model: str
    dimension: int
    search: float
    availability: float


def profile(model: str) -> Profile:
    """The profile of a model named in data/coffee/embedding_models.json."""
    return Profile(model, **schema.document("coffee/embedding_models.json")[model])


class Embedder(Protocol):
    profile: Profile

    async def vectors(self, texts: Sequence[str]) -> list[list[float]] | None:
        """One vector a text, or None where the model gave none."""


class LocalEmbedder:
    """wordllama: 256 dimensions, its weights inside the wheel, under a millisecond a text."""

    profile = profile(LOCAL)

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in local_vectors(texts)]


class GeminiEmbedder:
    """The project's embedding model, through the one place that calls Gemini."""

    def __init__(self, model: Model) -> None:
        self._model, self.profile = model, profile(GEMINI)

    async def vectors(self, texts: Sequence[str]) -> list[list[float]] | None:
        out: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            reply = await self._model.embed(
                texts[start : start + _BATCH],
                model=self.profile.model,
                dimension=self.profile.dimension,
            )
            if reply.vectors is None:
                return None
            out += reply.vectors
        return out


@functools.cache
def _wordllama() -> Any:
    import wordllama  # late: half a second

    # Without the folder it looks for its tokenizer elsewhere and then downloads one.
    return wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )


def local_vectors(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors of texts, one row each; a text without any known piece is a zero row."""
    raw = _wordllama().embed(list(texts), norm=False)
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    return np.divide(raw, length, out=np.zeros_like(raw), where=length > 0)


def what(product: Product) -> str:
    """The words a product is found by: its name, what it is and does, its notes."""
    words = f"{product.name} {product.says} {', '.join(product.notes)}"
    return wording.content(wording.plain(words))


async def embed_menu(store: CoffeeStore, embedder: Embedder) -> int:
    """Embed every product that has no vectors of this model yet. Returns how many.

    Raises LabError where the model gives none.
    """
    profile = embedder.profile
    products = await asyncio.to_thread(store.unembedded, profile.model)
    if not products:
        return 0
    texts = [what(p) for p in products] + [wording.plain(p.name) for p in products]
    vectors = await embedder.vectors(texts)
    if vectors is None:
        raise LabError(
            "The menu could not be made searchable.",
            f"The embedding model {profile.model} gave no vectors.",
            "Check that the project may call it, then ask again.",
        )
    n = len(products)
    rows = [(p.id, vectors[i], vectors[n + i]) for i, p in enumerate(products)]
    await asyncio.to_thread(store.put_embeddings, profile.model, rows)
    return n


class Idioms:
    """What a turn of phrase asks for: "wake me up" means a strong espresso.

    The phrases are the cravings of data/coffee/wording.json; the nearest one counts when it is
    near enough. They are always compared with the local model, whichever searches the menu.
    """

    NEAR = 0.7

    def __init__(self) -> None:
        pairs = [
            (form, craving["means"])
            for craving in wording.vocabulary()["cravings"]
            for said in craving["says"]
            for form in {wording.plain(said), wording.content(wording.plain(said))} - {""}
        ]
        self._means = [means for _, means in pairs]
        self._vectors = local_vectors([said for said, _ in pairs])

    def wish(self, text: str) -> str:
        """The query of the vector search: the words that matter, and what an idiom among them
        asks for."""
        words = wording.wish(text)
        asked = local_vectors([wording.plain(text), words])
        near = (asked @ self._vectors.T).max(axis=0)
        best = int(near.argmax())
        if near[best] >= self.NEAR:
            words = f"{words} {self._means[best]}".strip()
        return (words or wording.plain(text))[: wording.MAX_TEXT]
