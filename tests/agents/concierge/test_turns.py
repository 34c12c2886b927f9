"""Turns of the concierge on real stores: the order of work, context, caches, what is streamed."""

import asyncio
import dataclasses

import pytest

from lab_helpers.agents.concierge.agent import Concierge
from lab_helpers.agents.concierge.answers import TONES
from lab_helpers.agents.concierge.result import KEYS
from lab_helpers.errors import LabError
from tests.agents.concierge import gemini_server
from tests.agents.concierge.conftest import final, opened, update
from tests.agents.concierge.test_grounding import spoken_of

MESSAGES = [
    ("wake me up", "PRODUCT_RAG"),
    ("motor oil please", "PRODUCT_RAG"),
    ("is the Gemini Rush in stock?", "PRODUCT_AVAILABILITY"),
    ("hello there", "GENERAL_CONVERSATION"),
    ("when does Old Mill open?", "STORE_LOCATION"),
    ("where is my order?", "ORDER_STATUS"),
]


@pytest.mark.parametrize(("message", "label"), MESSAGES)
async def test_every_result_has_the_eight_keys(concierge, session, message, label):
    result = await concierge.ask(message, "A", session=session)
    assert tuple(result.as_dict()) == KEYS
    assert result.intent_detected == label
    assert result.answer and result.response_time_ms > 0


@pytest.mark.parametrize(("message", "label"), MESSAGES)
async def test_only_conversation_is_streamed(concierge, session, message, label):
    deltas, result = await final(concierge.stream(message, "A", session=session))
    assert bool(deltas) == (label == "GENERAL_CONVERSATION")
    if deltas:
        assert "".join(deltas).strip() == result.answer


async def test_the_second_ask_comes_from_the_cache(concierge, session):
    first = await concierge.ask("Wake me up!", session=session)
    second = await concierge.ask("  wake ME up ", session=session)
    assert (first.from_cache, second.from_cache) == (False, True)
    assert second.answer == first.answer
    assert [s.node_name for s in second.steps] == ["response_cache"]


@pytest.mark.parametrize(
    ("message", "tone", "cached"),
    [
        ("wake me up", "novice", True),
        ("wake me up", "barista", False),
        ("wake us", "novice", False),
    ],
)
async def test_the_cache_is_keyed_by_words_and_tone(concierge, session, message, tone, cached):
    await concierge.ask("wake me up", tone="novice", session=session)
    again = await concierge.ask(message, tone=tone, session=session)
    assert again.from_cache is cached


RUN_OUT = "UPDATE response_cache SET expires_at = TIMESTAMP '2020-01-01T00:00:00Z' WHERE true"


async def test_an_answer_that_ran_out_is_not_fresh(concierge, shop, session):
    await concierge.ask("wake me up", session=session)
    update(
        shop, "UPDATE response_cache SET expires_at = TIMESTAMP '2020-01-01T00:00:00Z' WHERE true"
    )
    assert (await concierge.ask("wake me up", session=session)).from_cache is False
    update(
        shop, "UPDATE response_cache SET expires_at = TIMESTAMP '2020-01-01T00:00:00Z' WHERE true"
    )
    assert shop.forget_expired() == 1


async def test_what_hangs_on_the_conversation_is_never_cached(concierge, session):
    for message in ("is that in stock?", "where is my order?", "hello", "are you open on sunday?"):
        await concierge.ask(message, "A", session=session)
        assert (await concierge.ask(message, "A", session=session)).from_cache is False


async def test_the_embedding_cache_is_told_apart(concierge, session):
    first = await concierge.ask("something minty", session=session)
    other = await concierge.ask("something minty", tone="barista", session=session)
    assert (first.embedding_cache_hit, other.embedding_cache_hit) == (False, True)
    assert other.from_cache is False


async def test_each_search_leaves_a_metrics_row(concierge, shop, session):
    result = await concierge.ask("something minty", session=session)
    (row,) = shop.metrics(result.trace_id)
    assert row == {k: result.search_metrics[k] for k in row}
    assert row["results_count"] == len(row["products_found"]) > 0
    phases = ("embedding_ms", "spanner_ms", "tool_ms", "grounded_answer_ms")
    assert all(result.search_metrics[phase] >= 0 for phase in phases)
    assert set(result.sql_phases) == {"response_cache", "embedding_cache", "vector_search"}


async def test_that_is_the_last_recommended_product(concierge, session):
    first = await concierge.ask("wake me up", session=session)
    names = [p.name for p in first.products]
    assert (await concierge.state(session=session))["last_products"] == names
    for message, name in (
        ("is that in stock?", names[0]),
        ("is the second one available?", names[1]),
        ("¿está disponible?", names[0]),
    ):
        result = await concierge.ask(message, session=session)
        assert [p.name for p in result.products] == [name], message


async def test_that_means_nothing_before_anything_was_recommended(concierge, session):
    result = await concierge.ask("is that in stock?", session=session)
    assert result.products == () and "Which product" in result.answer


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (
            "do you have Vanilla Drift Cold Brew in stock at Harbor Street",
            "Vanilla Drift Cold Brew",
        ),
        ("is ESP03 in stock", "Gemini Rush"),
        ("is product 103 available", "Gemini Rush"),
        ("is the Gemini in stock", "Gemini Rush"),
        ("which stores have the pumpkin one", "Pumpkin Lantern Latte"),
        ("which stores have Kenya beans", "Kenya Ridge Beans"),
        ("hay existencias del Gemini Rush", "Gemini Rush"),
    ],
)
async def test_a_product_is_found_by_name_code_id_or_nearly(concierge, session, message, name):
    await concierge.ask("something sweet", session=session)
    result = await concierge.ask(message, session=session)
    assert [p.name for p in result.products] == [name]


async def test_a_named_store_narrows_the_stock(concierge, shop, session):
    product = shop.named("gemini rush")[0]
    where = next(s for s in shop.stock(product.id) if s.units)
    result = await concierge.ask(f"is Gemini Rush in stock at {where.store}?", session=session)
    assert f"Gemini Rush at {where.store}: {where.store}, {where.city} ({where.units})." in (
        result.answer
    )


async def test_orders_are_shown_to_their_customer_only(lab, concierge, session):
    own = await concierge.ask("show my orders", "A", session=session)
    assert "ORD-90124" in own.answer and "ORD-90477" not in own.answer
    foreign = await concierge.ask("what about ORD-90477?", "A", session=session)
    assert foreign.answer == "ORD-90477 is not one of your orders."
    nobody = await concierge.ask("show my orders", session=session)
    assert "ORD-" not in nobody.answer and "persona switcher" in nobody.answer


async def test_an_order_is_told_as_the_refund_agent_sees_it(lab, concierge, session):
    order = next(o for o in lab.operations.orders(1001) if o.order_id == 90124)
    result = await concierge.ask("where is ORD-90124?", "A", session=session)
    for fact in (order.status, order.product_names, f"${order.price:.2f}"):
        assert fact in result.answer


@pytest.mark.parametrize("message", ["wake me up", "algo dulce"])
async def test_tones_change_the_words_never_the_facts(concierge, session, message):
    told = {
        tone: (await concierge.ask(message, tone=tone, session=session)).answer for tone in TONES
    }
    assert len(set(told.values())) == len(TONES)
    facts = {tone: spoken_of(answer) for tone, answer in told.items()}
    assert all(fact == facts["novice"] for fact in facts.values()) and facts["novice"]


async def test_a_spanish_question_is_answered_in_spanish(concierge, session):
    result = await concierge.ask("algo dulce", session=session)
    assert result.language == "es" and "Cafeína" in result.answer


@pytest.mark.parametrize(
    ("message", "inside", "outside"),
    [
        ("when does Old Mill open?", ["Old Mill", "07:00-18:00"], ["Lakeside"]),
        ("do you have a shop in Ashford?", ["Riverside", "Airport Hall B"], ["Old Mill"]),
        ("can I bring my dog?", ["Lakeside", "Beach Kiosk"], ["Market Hall"]),
        ("which shop closes latest?", ["Hospital Cross"], ["Old Mill"]),
        ("hay wifi en Fairview?", ["Campus Green"], ["Maple Avenue"]),
    ],
)
async def test_stores_are_answered_from_rows(concierge, session, message, inside, outside):
    answer = (await concierge.ask(message, session=session)).answer
    assert all(word in answer for word in inside)
    assert not any(word in answer for word in outside)


async def test_a_turn_leaves_its_trail(lab, concierge, session):
    asked = await concierge.ask("wake me up", "A", session=session)
    cached = await concierge.ask("wake me up", "A", session=session)
    said = await concierge.ask("tell me a joke", session=session)
    await concierge.settled()
    assert list(lab.trail.counts(asked.trace_id).values()) == [1, 4, 1, 1]
    assert list(lab.trail.counts(cached.trace_id).values()) == [1, 1, 1, 1]
    assert list(lab.trail.counts(said.trace_id).values()) == [1, 5, 1, 1]
    rows = lab.trail.ask("trace", {"trace_id": asked.trace_id})
    assert {row["decision_status"] for row in rows if row.get("decision_status")} == {"ANSWERED"}


async def test_a_trail_that_bigquery_does_not_take_is_owed(lab, shop, session):
    from lab_helpers.agents.trace import load
    from lab_helpers.stores.lineage import DeliveryFailed

    class Down:
        def write(self, rows):
            raise DeliveryFailed(rows, "down")

    concierge = Concierge(lab.config, shop, lab.operations.orders, lab.operations, Down())
    result = await concierge.ask("wake me up", session=session)
    await concierge.settled()
    owed = load(lab.operations.pending_outbox()[result.trace_id])
    assert len(owed["agent_sessions"]) == 1
    lab.reconcile()
    assert lab.trail.counts(result.trace_id)["agent_sessions"] == 1
    concierge.close()


async def test_a_store_that_is_down_costs_a_sentence_not_a_trace(lab, shop, concierge, session):
    broken = Concierge(lab.config, shop, lambda _: 1 / 0, lab.operations, lab.trail)
    result = await broken.ask("show my orders", "A", session=session)
    assert "cannot be read right now" in result.answer
    assert tuple(result.as_dict()) == KEYS
    broken.close()


@pytest.mark.parametrize("project", ["", "your-project-id", "example"])
async def test_a_missing_or_placeholder_project_is_one_clean_sentence(lab, shop, session, project):
    config = dataclasses.replace(lab.config, backend="cloud", project=project)
    concierge = Concierge(config, shop, lab.operations.orders, lab.operations, lab.trail)
    deltas, result = await final(concierge.stream("wake me up", session=session))
    assert deltas == [] and result.answer.startswith("The concierge cannot start: ")
    assert "LAB_PROJECT" in result.answer and tuple(result.as_dict()) == KEYS
    concierge.close()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [({"persona": "Z"}, "no persona 'Z'"), ({"tone": "poet"}, "no tone 'poet'")],
)
async def test_an_unknown_name_is_explained(concierge, arguments, what):
    with pytest.raises(LabError, match=what):
        await concierge.ask("hi", **arguments)


async def test_the_same_result_always_shows_the_same(concierge, session):
    first = await concierge.ask("wake me up", session=session)
    concierge.forget_caches()
    again = await concierge.ask("wake me up", session=session)
    assert repr(again) == repr(first)
    assert again._repr_html_() == first._repr_html_()
    assert "ms" not in repr(first).replace("mg", "").split("[")[-1]


# -- with a model ---------------------------------------------------------------------------------


def speaking(label, said):
    return lambda body: label if gemini_server.asks_for(body) == "label" else said


async def test_gemini_labels_with_an_enum_at_temperature_zero(with_gemini, gemini, session):
    gemini.answer = speaking("STORE_LOCATION", "unheard")
    result = await with_gemini.ask("blah blah", session=session)
    assert result.intent_detected == "STORE_LOCATION" and "Harbor Street" in result.answer
    settings = gemini.calls[0][1]["generationConfig"]
    assert settings["responseMimeType"] == "text/x.enum"
    assert settings["responseSchema"]["enum"][0] == "PRODUCT_RAG"
    assert settings["temperature"] == 0
    assert len(gemini.calls) == 1, "stores are answered from rows, so no reply is asked for"


@pytest.mark.parametrize(
    ("model", "asked", "who"),
    [
        ("gemini-3-flash-preview", "gemini-3.1-flash-lite", "gemini"),
        ("house-1", "house-1", "house-1"),
    ],
)
async def test_the_classifier_asks_a_model_that_the_lab_has_and_names_it(
    provisioned, shop, gemini, session, model, asked, who
):
    gemini.answer = speaking("STORE_LOCATION", "unheard")
    concierge = opened(provisioned, shop, model=model, model_endpoint=gemini.url)
    result = await concierge.ask("blah blah", session=session)
    spoke = {step.node_name: step.spoke for step in result.steps}
    assert spoke["intent_classifier"] == who and gemini.models[0] == asked
    concierge.close()


@pytest.mark.parametrize("said", [None, "", "BUY_NOW", "PRODUCT"])
async def test_a_label_that_is_none_falls_back_on_the_examples(with_gemini, gemini, session, said):
    gemini.answer = lambda body: said
    result = await with_gemini.ask("where is my order?", "A", session=session)
    assert result.intent_detected == "ORDER_STATUS" and "ORD-90124" in result.answer


async def test_conversation_is_streamed_as_it_is_said(with_gemini, gemini, session):
    said = "Espresso is brewed under pressure, which makes the crema."
    gemini.answer = speaking("GENERAL_CONVERSATION", said)
    deltas, result = await final(with_gemini.stream("what is crema?", session=session))
    assert len(deltas) > 3 and "".join(deltas) == said == result.answer
    assert result.spoke == "gemini"


async def test_the_model_hears_what_was_said_before(with_gemini, gemini, session):
    gemini.answer = speaking("GENERAL_CONVERSATION", "Fine.")
    await with_gemini.ask("my cat is called Momo", session=session)
    await with_gemini.ask("what is my cat called?", session=session)
    heard = str(gemini.calls[-1][1])
    assert "Momo" in heard and heard.count("what is my cat called?") == 1


@pytest.mark.parametrize("said", [None, "", "```tool_code\nfind_stores()\n```"])
async def test_a_model_that_fails_leaves_the_template(with_gemini, gemini, session, said):
    gemini.answer = speaking("GENERAL_CONVERSATION", said)
    result = await with_gemini.ask("hello", session=session)
    assert result.spoke == "template" and result.answer.startswith("Hello!")


async def test_the_tools_tell_the_model_when_to_call_them(with_gemini, gemini, session):
    gemini.answer = speaking("GENERAL_CONVERSATION", "Hm.")
    await with_gemini.ask("hello", session=session)
    declared = gemini.calls[-1][1]["tools"][0]["functionDeclarations"]
    told = {d["name"]: d["description"] for d in declared}
    assert set(told) == {"search_products_by_vector", "find_stores_with_product", "find_stores"}
    for word in ("menu", "catalog", "recommendation", "wake me up", "decaf", "availability"):
        assert word in told["search_products_by_vector"]


def test_turns_at_the_same_time_keep_their_own_answers(concierge, session):
    messages = ["wake me up", "something minty", "show my orders", "hello", "té verde"]

    async def all_at_once():
        return await asyncio.gather(*(concierge.ask(m, "A", session=session) for m in messages))

    results = asyncio.run(all_at_once())
    labels = ["PRODUCT_RAG"] * 2 + ["ORDER_STATUS", "GENERAL_CONVERSATION", "PRODUCT_RAG"]
    assert [r.intent_detected for r in results] == labels
    history = asyncio.run(concierge.history("A", session=session))
    assert {line["text"] for line in history if line["role"] == "user"} == set(messages)
    assert len(history) == 2 * len(messages)
