"""The gardener: nothing is lost, the same inputs give the same page, every decision says why."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab_helpers.agents.gate import gardener, shift, triage
from lab_helpers.agents.gate.gardener import Item, tend

TOPICS = "abcde"


@st.composite
def gardens(draw):
    """Some items spread over page, pool and arrivals, a need, and a size."""
    made = draw(
        st.lists(
            st.tuples(st.integers(0, 12), st.frozensets(st.sampled_from(TOPICS), max_size=3)),
            max_size=14,
        )
    )
    items = [
        Item(f"item-{n}", "any", " ".join(["word"] * size), topics)
        for n, (size, topics) in enumerate(made)
    ]
    items = draw(st.permutations(items))
    cuts = sorted(draw(st.tuples(*[st.integers(0, len(items))] * 2)))
    places = items[: cuts[0]], items[cuts[0] : cuts[1]], items[cuts[1] :]
    need = draw(st.frozensets(st.sampled_from(TOPICS)))
    return *places, need, draw(st.integers(0, 60))


@given(gardens(), st.booleans())
def test_nothing_is_ever_lost(garden, recall):
    page, pool, arriving, need, capacity = garden
    tended = tend(page, pool, arriving, need, capacity, recall=recall)
    before = sorted(i.item_id for i in (*page, *pool, *arriving))
    assert sorted(i.item_id for i in (*tended.page, *tended.pool)) == before
    assert sorted(d.item_id for d in tended.decisions) == before


@given(gardens(), st.booleans(), st.randoms())
def test_the_same_inputs_give_the_same_page(garden, recall, random):
    page, pool, arriving, need, capacity = garden
    first = tend(page, pool, arriving, need, capacity, recall=recall)
    pool, arriving = list(pool), list(arriving)
    random.shuffle(pool)
    random.shuffle(arriving)
    assert tend(page, pool, arriving, need, capacity, recall=recall) == first


@given(gardens(), st.booleans())
def test_the_page_never_holds_more_than_its_size(garden, recall):
    *_, capacity = garden
    tended = tend(*garden, recall=recall)
    assert tended.used <= capacity


@given(gardens(), st.booleans())
def test_nothing_leaves_without_pressure(garden, recall):
    page, pool, arriving, need, _ = garden
    everything = sum(i.size for i in (*page, *pool, *arriving))
    tended = tend(page, pool, arriving, need, everything, recall=recall)
    assert tended.ids(gardener.EVICTED) == []


@given(gardens())
def test_only_what_is_needed_comes_back(garden):
    page, pool, arriving, need, capacity = garden
    back = set(tend(page, pool, arriving, need, capacity).ids(gardener.RECALLED))
    assert back <= {i.item_id for i in pool if i.topics & need}


@given(gardens())
def test_with_recall_off_nothing_comes_back(garden):
    page, pool, arriving, need, capacity = garden
    tended = tend(page, pool, arriving, need, capacity, recall=False)
    assert not {i.item_id for i in tended.page} & {i.item_id for i in pool}


@given(gardens(), st.booleans())
def test_what_is_needed_outlives_what_is_not(garden, recall):
    *_, need, capacity = garden
    tended = tend(*garden, recall=recall)
    out = set(tended.ids(gardener.EVICTED))
    fits = [i for i in tended.pool if i.item_id in out and i.size <= capacity]
    worst = min((len(i.topics & need) for i in tended.page), default=0)
    assert all(len(i.topics & need) <= worst for i in fits) or not tended.page


@given(gardens(), st.booleans())
def test_every_decision_says_why(garden, recall):
    assert all(d.why for d in tend(*garden, recall=recall).decisions)


def test_two_items_of_one_name_are_refused():
    item = Item("twice", "any", "words")
    with pytest.raises(ValueError, match="twice"):
        tend([item], [item], [], frozenset(), 10)


def test_another_process_with_another_hash_seed_gives_the_same_page():
    code = (
        "from lab_helpers.agents.gate import gardener, shift, triage\n"
        "s = shift.load(); page = pool = ()\n"
        "for step in s.steps:\n"
        "    need = triage.read(step.message, s).need\n"
        "    t = gardener.tend(page, pool, step.brings, need, s.page_words)\n"
        "    page, pool = t.page, t.pool\n"
        "    print(t.decisions, [i.item_id for i in page])\n"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(outs) == 1


def test_the_gardener_needs_nothing_but_the_standard_library():
    import ast
    from pathlib import Path

    tree = ast.parse(Path(gardener.__file__).read_text(encoding="utf-8"))
    used = {n.module.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    used |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert used <= set(sys.stdlib_module_names)


@pytest.fixture(scope="module")
def the_shift():
    """The written shift's three steps, tended."""
    told, page, pool, out = shift.load(), (), (), []
    for step in told.steps:
        need = triage.read(step.message, told).need
        done = tend(page, pool, step.brings, need, told.page_words)
        page, pool = done.page, done.pool
        out.append(done)
    return out


def test_six_background_items_start_on_the_page(the_shift):
    background = {i.item_id for i in shift.load().background()}
    assert len(background) == 6
    assert background <= {i.item_id for i in the_shift[0].page}


def test_the_second_order_pushes_all_of_them_out(the_shift):
    background = {i.item_id for i in shift.load().background()}
    assert background <= set(the_shift[1].ids(gardener.EVICTED))


def test_the_question_brings_back_what_it_needs(the_shift):
    needed = {"commitment-free-shipping", "complaint-crushed-corners"}
    assert set(the_shift[2].ids(gardener.RECALLED)) == needed


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Twelve cartons of the ten-inch cake boxes for Thursday",
            ("order", "box-10", 12, "Thursday"),
        ),
        ("40 rolls of the wide parchment, on friday", ("order", "parchment-wide", 40, "Friday")),
        ("One case of bread bags", ("order", "bread-bags", 1, None)),
        ("Some cup sleeves please", ("order", "cup-sleeves", None, None)),
        ("What was I promised?", ("after-sales", None, None, None)),
        ("", ("after-sales", None, None, None)),
    ],
)
def test_triage_reads_a_message(message, expected):
    brief = triage.read(message, shift.load())
    assert (brief.kind, brief.product, brief.quantity, brief.day) == expected
