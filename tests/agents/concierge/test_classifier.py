"""The labelled set: how well an unseen message is routed without any model."""

from collections import defaultdict
from pathlib import Path

import pytest

from lab_helpers.agents.concierge import classifier, wording

LEAST = 0.92


def labelled():
    lines = (Path(__file__).parent / "utterances.tsv").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def held_out():
    """Every second utterance of each label; the others were looked at while tuning."""
    seen, held = defaultdict(int), []
    for label, text in labelled():
        seen[label] += 1
        if seen[label] % 2 == 0:
            held.append((label, text))
    return held


def test_the_labelled_set_is_large_and_holds_every_label():
    counts = defaultdict(int)
    for label, _ in labelled():
        counts[label] += 1
    assert set(counts) == set(classifier.LABELS)
    assert sum(counts.values()) >= 300 and min(counts.values()) >= 40


def test_no_utterance_is_one_of_the_classifiers_own_examples():
    own = {wording.plain(text) for _, text in classifier.labelled()}
    assert [text for _, text in labelled() if wording.plain(text) in own] == []


def test_the_held_out_half_is_routed_right(concierge):
    wrong = [
        (label, concierge.classify(text).label, text)
        for label, text in held_out()
        if concierge.classify(text).label != label
    ]
    assert 1 - len(wrong) / len(held_out()) >= LEAST, wrong


@pytest.mark.parametrize("label", classifier.LABELS)
def test_no_label_is_left_behind(concierge, label):
    texts = [text for found, text in labelled() if found == label]
    right = sum(concierge.classify(text).label == label for text in texts)
    assert right / len(texts) >= 0.85


@pytest.mark.parametrize(
    ("text", "label", "by"),
    [
        ("ORD-90124", "ORDER_STATUS", "rule"),
        ("hola, y el 90137?", "ORDER_STATUS", "rule"),
        ("is ESP03 in stock", "PRODUCT_AVAILABILITY", "examples"),
        ("is Maple Cabin Latte sold out", "PRODUCT_AVAILABILITY", "examples"),
        ("when does Foundry Yard open", "STORE_LOCATION", "examples"),
        ("wheres my oder", "ORDER_STATUS", "examples"),
    ],
)
def test_ids_settle_it_and_names_stand_for_each_other(concierge, text, label, by):
    found = concierge.classify(text)
    assert (found.label, found.by) == (label, by)


@pytest.mark.parametrize("text", ["", "???", "🙂", "x" * 5000, "请给我一杯咖啡"])
def test_anything_at_all_gets_one_of_the_labels(concierge, text):
    assert concierge.classify(text).label in classifier.LABELS


def test_an_idiom_can_be_taught(concierge):
    text = "captain, the tank is empty"
    before = concierge.classify(text)
    more = ["my tank is empty", "the tank is running empty", "fill up my empty tank"]
    after = concierge.taught("PRODUCT_RAG", more).classify(text)
    assert before.label != "PRODUCT_RAG"
    assert after.label == "PRODUCT_RAG" and after.likeness > before.likeness
    assert concierge.classify(text) == before
