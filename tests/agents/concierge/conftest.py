import dataclasses

import pytest

from lab_helpers.agents.concierge.agent import Concierge
from lab_helpers.agents.concierge.embedding import LocalEmbedder
from lab_helpers.agents.model import Model
from lab_helpers.stores.coffee import CoffeeStore
from tests.agents.concierge import gemini_server


@pytest.fixture(scope="session")
def shop(provisioned):
    """The coffee shop's store."""
    return CoffeeStore(provisioned.operations.database)


def opened(lab, shop, **changes):
    config = dataclasses.replace(lab.config, **changes)
    model = Model(config)
    return Concierge(
        config, shop, lab.operations.orders, lab.operations, lab.trail, model, LocalEmbedder()
    )


@pytest.fixture(scope="session")
def offline(provisioned, shop):
    """One concierge without a model; loading it takes a while."""
    concierge = opened(provisioned, shop)
    yield concierge
    concierge.close()


@pytest.fixture
def concierge(offline):
    """The offline concierge with empty caches."""
    offline.forget_caches()
    return offline


@pytest.fixture
def gemini():
    with gemini_server.running() as server:
        yield server


@pytest.fixture
def with_gemini(provisioned, shop, gemini):
    """A concierge whose model is the local Gemini."""
    shop.forget_caches()
    concierge = opened(provisioned, shop, model_endpoint=gemini.url)
    yield concierge
    concierge.close()


@pytest.fixture
def session(request):
    """A session name of this test alone."""
    return request.node.nodeid


async def final(stream):
    """(deltas, final result) of a stream."""
    items = [item async for item in stream]
    return [item.text for item in items[:-1]], items[-1]


def update(shop, sql):
    shop.database.run_in_transaction(lambda t: t.execute_update(sql))
