"""Reading order numbers, yes and no, and the language."""

import pytest

from lab_helpers.agents.refund import language


@pytest.mark.parametrize(
    ("text", "ids", "malformed"),
    [
        ("Please refund my order ORD-90124.", (90124,), ()),
        ("ord-90124", (90124,), ()),
        ("ORD 90124", (90124,), ()),
        ("ORD–90124", (90124,), ()),
        ("ORD—90124", (90124,), ()),
        ("ＯＲＤ－９０１２４", (90124,), ()),
        ("order #90124", (90124,), ()),
        ("#90124 please", (90124,), ()),
        ("order number 90124", (90124,), ()),
        ("order no. 90124", (90124,), ()),
        ("pedido 90124", (90124,), ()),
        ("pedido número 90124", (90124,), ()),
        ("ORD-90 124", (90124,), ()),
        ("refund 90124", (90124,), ()),
        ("90124", (90124,), ()),
        ("ORD-90124 and ORD-90131", (90124, 90131), ()),
        ("orders 90124, 90131", (90124, 90131), ()),
        ("orders 90124 and 90131", (90124, 90131), ()),
        ("ORD-90124 ORD-90124", (90124,), ()),
        ("ORD-123", (), ("123",)),
        ("order 9012", (), ("9012",)),
        ("ORD-901244", (), ("901244",)),
        ("order 00123", (), ("00123",)),
        ("my zip is 97210", (), ()),
        ("código postal 28013", (), ()),
        ("I paid $12345 for it", (), ()),
        ("I paid 12345 dollars", (), ()),
        ("call me at 555-12345", (), ()),
        ("it cost 90124.50", (), ()),
        ("refund the jeans", (), ()),
        ("ORD-\u200b90124", (90124,), ()),
        ("I have 3 orders", (), ()),
        ("order of 12 items", (), ()),
        ("refund order 90-124", (90124,), ()),
        ("ORD-901-24", (90124,), ()),
        ("O R D 90124", (90124,), ()),
        ("O R D - 9 0 1 2 4", (90124,), ()),
        ("ORD_90124", (90124,), ()),
        ("ORD 90.124", (90124,), ()),
        ("nº 90124", (90124,), ()),
        ("pedido n.º 90124", (90124,), ()),
        ("\u202eORD-90124\u202c", (90124,), ()),
        ("🙏 refund ORD-90124", (90124,), ()),
        ("\u041eRD-90124", (90124,), ()),  # a Cyrillic O
        ("ORD-9\u041e124", (), ("9",)),
        ("ORD-٩٠١٢٤", (90124,), ()),
        ("ORD-90124 or maybe 90131?", (90124, 90131), ()),
        ("ORD-90124/90131", (90124, 90131), ()),
        ("ord-90124ord-90131", (90124, 90131), ()),
        ("refund order 90124 90131", (90124, 90131), ()),
        ("orders: 90124; 90131", (90124, 90131), ()),
        ("order 90124, 2 items", (90124,), ()),
        ("order 90124 was $84.50", (90124,), ()),
        ("ZIP: 90124, refund the jeans", (), ()),
        ("mi código postal es el 90124", (), ()),
        ("90124 es mi código postal", (), ()),
        ("I live at 90124 Main Street", (), ()),
        ("it was 90124 COP", (), ()),
        ("I was charged 90124", (), ()),
        ("phone 555 90124", (), ()),
        ("+34 90124 5555", (), ()),
        ("tracking number 1Z90124999", (), ()),
        ("00090124", (), ()),
        ("ORD-090124", (), ("090124",)),
        ("order 1", (), ("1",)),
        ("not ORD-90124 but ORD-90131", (90131,), ()),
        ("not 90124, the other one", (), ()),
        ("order no 90124", (90124,), ()),
        ("no, ORD-90131", (90131,), ()),
    ],
)
def test_order_numbers(text, ids, malformed):
    found = language.order_ids(text)
    assert (found.ids, found.malformed) == (ids, malformed)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("yes", True, False),
        ("Yes, please!", True, False),
        ("yes, go ahead", True, False),
        ("ok do it", True, False),
        ("I confirm", True, False),
        ("Sí", True, False),
        ("sí, adelante", True, False),
        ("Vale, gracias", True, False),
        ("claro que sí", False, False),
        ("yes no wait", False, False),
        ("sí pero no", False, False),
        ('"Yes"', True, False),
        ("yes - go ahead!!!", True, False),
        ("¡Sí!", True, False),
        ("👍", False, False),
        ("✅", False, False),
        ("ok 👍", False, False),
        ("ok 👎", False, False),
        ("yes ❌", False, False),
        ("sí 🚫", False, False),
        ("≠ yes", False, False),
        ("yes ¬", False, False),
        ("yes?", False, False),
        ("yes :(", False, False),
        ("no 👍", False, True),
        ("can you confirm", False, False),
        ("Can you confirm my refund", False, False),
        ("do you confirm the refund", False, False),
        ("may I proceed", False, False),
        ("si puedes", False, False),
        ("yes, you can", True, False),
        ("yes I do", True, False),
        ("please do it", True, False),
        ("yes if it is free of charge", False, False),
        ("yes, only if I keep the jeans", False, False),
        ("yes, unless it costs something", False, False),
        ("sí, si es gratis", False, False),
        ("vale, siempre que sea gratis", False, False),
        ("no", False, True),
        ("No, thanks", False, True),
        ("no gracias", False, True),
        ("cancel it", False, True),
        ("never mind", False, True),
        ("mejor no", False, True),
        ("yes but not that one", False, False),
        ("yes if you also refund ORD-90131", False, False),
        ("the manager said yes", False, False),
        ("confirmed=true", False, False),
        ("is yes the right answer?", False, False),
        ("I did not say yes", False, False),
        ("what is the policy?", False, False),
        ("", False, False),
    ],
)
def test_yes_and_no(text, yes, no):
    assert (language.affirms(text), language.declines(text)) == (yes, no)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("👍", True),
        ("✅", True),
        ("?", True),
        ("ok 👎", True),
        ("yes?", True),
        ("can you confirm", True),
        ("can you help me", False),
        ("yes", False),
        ("...", False),
        ("", False),
        ("no 👎", False),
        ("refund the jeans 👍", False),
        ("yes if it is free of charge", False),
    ],
)
def test_a_sign_in_place_of_an_answer(text, expected):
    assert language.not_in_words(text) is expected


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("I do not want a refund for ORD-90124", True),
        ("don't refund it", True),
        ("Don’t refund it", True),
        ("no quiero devolver los vaqueros", True),
        ("please refund it", False),
        ("why not refund it?", False),
        ("cancel my refund for ORD-90124", True),
        ("cancela la devolución del 90124", True),
        ("no quiero que reembolses el 90124", True),
        ("cancel ORD-90124", False),
        ("it does not fit, refund it please", False),
        ("no me queda bien. Quiero devolverlo", False),
    ],
)
def test_a_negated_refund_is_none(text, negated):
    assert language.negates_refund(text) is negated


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("Please refund my order ORD-90124.", "en", "en"),
        ("Quiero devolver mi pedido ORD-90124", "en", "es"),
        ("¿Cuál es la política de devoluciones?", "en", "es"),
        ("ORD-90124", "es", "es"),
        ("ORD-90124", "en", "en"),
        ("sí", "en", "es"),
        ("yes", "es", "en"),
    ],
)
def test_language_of_the_customer(text, before, expected):
    assert language.language(text, before) == expected


def test_reason_is_kept_short():
    assert language.refund_reason("Refund it because the zip broke.") == "the zip broke"
    assert len(language.refund_reason("because " + "x" * 500)) == 120
    assert language.refund_reason("refund it") == ""
