"""Questions that wait are answered together, each as if alone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from docboltz.explorer.batching import MOST_AT_ONCE, Batches, Question
from docboltz.explorer.routes import answer_searches
from docboltz.explorer.snapshot import Snapshot
from docboltz.text_model import TextModel


def run_alone(run):
    """In a thread of its own: that of a test may have a browser's event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()


def question(text, limit=10, by="both", reasons=False, wanted=None):
    return Question(text, limit, by, reasons, wanted or {})


def test_answers_of_a_batch_have_the_bits_of_answers_alone(saved):
    snapshot = Snapshot(TextModel.open(saved))
    texts = ["moon", "bread butter", "", "xyzzy", "hockey moon bread", "moon"]
    kinds = [{}, {"limit": 3}, {"by": "words"}, {"reasons": True}, {"by": "features", "limit": 3}]
    kinds += [{"wanted": {"label": ["space"]}}, {"wanted": {"label": ["food"]}}]
    asked = [question(text, **kind) for text in texts for kind in kinds]
    together = answer_searches(snapshot, asked)
    assert together == [answer_searches(snapshot, [each])[0] for each in asked]
    assert len(set(together)) > 15


def test_those_that_wait_go_together_and_nobody_gets_anothers_answer():
    sizes, go = [], threading.Event()

    def answer(questions):
        go.wait(10)
        sizes.append(len(questions))
        return [each.text.encode() for each in questions]

    async def run():
        batches = Batches(answer)
        asked = [asyncio.create_task(batches.ask(question(str(i)))) for i in range(40)]
        await asyncio.sleep(0.05)
        go.set()
        found = await asyncio.gather(*asked)
        batches.close()
        return found

    assert run_alone(run) == [str(i).encode() for i in range(40)]
    assert sum(sizes) == 40
    assert sizes[0] == 1  # whoever is alone waits for nobody
    assert max(sizes) == MOST_AT_ONCE


def test_a_failure_in_a_batch_is_that_of_one_question():
    go = threading.Event()

    def answer(questions):
        go.wait(10)
        if any(each.text == "3" for each in questions):
            raise ValueError("bad")
        return [each.text.encode() for each in questions]

    async def run():
        batches = Batches(answer)
        asked = [asyncio.create_task(batches.ask(question(str(i)))) for i in range(8)]
        await asyncio.sleep(0.05)
        go.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        batches.close()
        return found

    found = run_alone(run)
    assert isinstance(found.pop(3), ValueError)
    assert found == [str(i).encode() for i in range(8) if i != 3]


def test_a_failure_is_that_of_its_batch_alone_and_who_has_gone_is_no_trouble():
    def answer(questions):
        if any(each.text == "bad" for each in questions):
            raise ValueError("bad")
        return [each.text.encode() for each in questions]

    async def run():
        batches = Batches(answer)
        with pytest.raises(ValueError, match="bad"):
            await batches.ask(question("bad"))
        gone = asyncio.create_task(batches.ask(question("gone")))
        await asyncio.sleep(0)
        gone.cancel()
        found = await batches.ask(question("good"))
        batches.close()
        return found

    assert run_alone(run) == b"good"
