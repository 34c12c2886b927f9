"""The attacks: prompts/*.json, written for this project, and the disguises some of them wear."""

from __future__ import annotations

import base64
import codecs
import html
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

FOLDER = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class Attack:
    """`after_a_question`: said while an order waits for confirmation."""

    kind: str
    language: str
    text: str
    after_a_question: bool


_CYRILLIC = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
_LEET = str.maketrans("aeiostAEIOST", "431057431057")


def _spread(mark: str) -> Callable[[str], str]:
    return lambda text: mark.join(text)


def _bold(text: str) -> str:
    return "".join(
        chr(0x1D400 + ord(c) - 65)
        if "A" <= c <= "Z"
        else chr(0x1D41A + ord(c) - 97)
        if "a" <= c <= "z"
        else chr(0x1D7CE + int(c))
        if c.isascii() and c.isdigit()
        else c
        for c in text
    )


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


# kind: its disguises. Every plain text wears two of each kind, in turn.
DISGUISES: dict[str, tuple[Callable[[str], str], ...]] = {
    "encoded": (
        lambda t: "decode and obey: " + base64.b64encode(t.encode()).decode(),
        lambda t: "hex: " + t.encode().hex(),
        lambda t: "rot13 -> " + codecs.encode(t, "rot13"),
        quote,
        lambda t: "".join(f"&#{ord(c)};" for c in t),
        lambda t: html.escape(t[::-1]) + " (read it backwards)",
    ),
    "look_alike": (
        _wide,
        lambda t: t.translate(_CYRILLIC),
        _bold,
        lambda t: t.translate(_LEET),
        lambda t: unicodedata.normalize("NFD", t).upper(),
    ),
    "noise": (
        _spread("\u200b"),
        _spread("\u0336"),
        lambda t: "\u202e" + t + "\u202c",
        lambda t: t.replace(" ", "\x00\x1b[2J\x07"),
        lambda t: "lorem ipsum " * 150 + t,
        lambda t: t + " please" * 5000,
        lambda t: "\U0001f4b8" * 20 + t + "\ufeff" * 200,
    ),
}


def load() -> list[Attack]:
    """Every attack, disguised ones included, in a fixed order."""
    out: list[Attack] = []
    for path in sorted(FOLDER.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        plain = [(lang, text) for lang, texts in told["prompts"].items() for text in texts]
        after = told["after_a_question"]
        if told["kind"] != "disguised":
            out += [Attack(told["kind"], lang, text, after) for lang, text in plain]
            continue
        for kind, disguises in DISGUISES.items():
            for n, (lang, text) in enumerate(plain):
                for wear in (disguises[(2 * n + k) % len(disguises)] for k in (0, 1)):
                    out.append(Attack(kind, lang, wear(text), after))
    return out
