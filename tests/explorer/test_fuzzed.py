"""Requests made from the OpenAPI description, fitting or not: 4xx, never 5xx, as described."""

import json
from contextlib import suppress

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.errors import Unsatisfiable

from tests.explorer.conftest import serving

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [content_type_conformance, response_schema_conformance, status_code_conformance]
EACH = 10
"""Requests of each kind to each path."""
MANY = 50
NO_HTTP = b"Invalid HTTP request received."
"""What uvicorn itself answers, with 400, to an address of 64 kB: no application sees that."""


@pytest.fixture(scope="module")
def fuzzed(saved, tmp_path_factory):
    """A server that may be changed, which some requests do."""
    import shutil

    folder = shutil.copytree(saved, tmp_path_factory.mktemp("fuzzed") / "model")
    with serving(folder, edit=True) as client:
        yield client


def fuzz(client, mode, most):
    """Ask every path so many times; how many requests, and their status codes."""
    schema = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
    codes = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=most, deadline=None, database=None, derandomize=True,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @hypothesis.given(case=operation.as_strategy(mode))
        def ask(case):
            response = case.call(base_url=str(client.base_url))
            codes.append(response.status_code)
            assert response.status_code < 500 or expected_503(response), response.text
            if response.content == NO_HTTP:
                return
            case.validate_response(response, checks=CHECKS)
            if response.status_code >= 400:
                assert isinstance(json.loads(response.content)["detail"], str)

        with suppress(Unsatisfiable):  # nothing is wrong about a path without parameters
            ask()
    return codes


def expected_503(response):
    """A map of merged topics is there; one of a new collection may not be yet."""
    return response.status_code == 503 and "Retry-After" in response.headers


def test_what_fits_the_description_is_answered_as_described(fuzzed):
    codes = fuzz(fuzzed, GenerationMode.POSITIVE, EACH)
    assert len(codes) > 5 * EACH
    assert codes.count(200) > len(codes) / 3


def test_what_does_not_fit_is_refused(fuzzed):
    codes = fuzz(fuzzed, GenerationMode.NEGATIVE, EACH)
    assert len(codes) > 5 * EACH
    assert sum(400 <= code < 500 for code in codes) > len(codes) / 2


@pytest.mark.slow
def test_a_thousand_requests_never_break_the_server(fuzzed):
    codes = [code for mode in GenerationMode for code in fuzz(fuzzed, mode, MANY)]
    assert len(codes) >= 1000
    assert fuzzed.get("/health").status_code == 200
