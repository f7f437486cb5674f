"""The generator's fingerprint: fixed for this version, and seen to change when an answer changes."""

import pytest

from bench.data import fingerprint
from bench.data.generate import Generator

FINGERPRINT = "f87b91fe7b878f748917099dd4384ee1ad07f030e111f7398cddbf4ae9e2d58b"


@pytest.fixture(autouse=True)
def _fresh():
    fingerprint.generator_hash.cache_clear()
    yield
    fingerprint.generator_hash.cache_clear()


def test_the_fingerprint_of_this_version():
    """A change here means other data sets and other trial ids: raise GENERATOR_VERSION and say so in the changelog."""
    assert FINGERPRINT == fingerprint.generator_hash()


def test_another_version_string_is_another_fingerprint(monkeypatch):
    """The version is hashed with the answers."""
    monkeypatch.setattr(fingerprint, "GENERATOR_VERSION", "2")
    assert fingerprint.generator_hash() != FINGERPRINT


def test_a_generator_that_answers_differently_has_another_fingerprint(monkeypatch):
    """Here: one that takes the next free draw instead of the first."""
    draw = Generator.family
    monkeypatch.setattr(Generator, "family", lambda self, slot: (draw(self, slot), draw(self, slot))[1])
    assert fingerprint.generator_hash() != FINGERPRINT
