"""Nonces of the App are valid once, and cannot be guessed."""

import pytest

from mdplan.mcp.review_app import Nonces


def test_nonce_is_valid_for_one_call_on_one_plan_version() -> None:
    nonces = Nonces()
    nonce = nonces.nonce("sha256-a", "1")

    assert not nonces.use(nonce, "sha256-b", "1")
    assert not nonces.use(nonce, "sha256-a", "2")
    assert nonces.use(nonce, "sha256-a", "1")
    assert not nonces.use(nonce, "sha256-a", "1")
    assert nonces.use(nonces.nonce("sha256-a", "1"), "sha256-a", "1")


def test_nonce_is_valid_in_one_process_only() -> None:
    assert not Nonces().use(Nonces().nonce("sha256-a", "1"), "sha256-a", "1")


def test_nonce_binds_plan_and_version_unambiguously() -> None:
    nonces = Nonces()

    assert nonces.nonce("a", "b1") != nonces.nonce("ab", "1")


@pytest.mark.parametrize("guess", ["", "\ud800", "é" * 64, "0" * 64])
def test_guessed_nonce_is_rejected(guess: str) -> None:
    assert not Nonces().use(guess, "sha256-a", "1")
