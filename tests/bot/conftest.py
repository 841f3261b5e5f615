"""What tests of the bot on branches share: who commits, and a manifest on the disk."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.fake_forge import FakeForge, serve
from tests.bot.repository import IDENTITY, MANIFEST, Repository


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git knows who commits."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The file of a manifest."""
    path = tmp_path / "bot.yml"
    path.write_text(MANIFEST, encoding="utf-8")
    return path


@pytest.fixture
def people(tmp_path: Path) -> Repository:
    """The work tree of people, who push to the bare repository `remote`."""
    made = Repository.make(tmp_path / "people")
    made.commit({"docs/one.md": b"# One\n\nThe nightly build.\n"})
    made.bare(tmp_path / "remote.git")
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return made


@pytest.fixture
def remote(people: Repository) -> Repository:
    """What `people` push to."""
    return Repository(Path(people.git("remote", "get-url", "origin")))


@pytest.fixture
def forge(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """A forge that listens on this machine, as the environment names it."""
    yield from serve(monkeypatch)


@pytest.fixture
def ssh_signing(tmp_path: Path) -> str:
    """Configure git to sign with a new SSH key."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    key, signers = tmp_path / "key", tmp_path / "signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signers.write_text(f"* {key.with_suffix('.pub').read_text()}")
    return (
        f"[commit]\ngpgSign = true\n[gpg]\nformat = ssh\n[user]\nsigningKey = {key}\n"
        f'[gpg "ssh"]\nallowedSignersFile = {signers}\n'
    )


@pytest.fixture
def gpg_signing() -> Iterator[str]:
    """Configure git to sign with a new GPG key."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    # The socket of the agent needs a short path.
    with tempfile.TemporaryDirectory(prefix="gpg-", ignore_cleanup_errors=True) as home:
        program = Path(home) / "gpg"
        program.write_text(f'#!/bin/sh\nexec gpg --homedir {home} --batch --quiet "$@"\n')
        program.chmod(0o755)
        name = "Docs Bot <bot@example.org>"
        make = [str(program), "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "never"]
        subprocess.run(make, check=True, capture_output=True)
        show = [str(program), "--list-secret-keys", "--with-colons"]
        listed = subprocess.run(show, check=True, capture_output=True, text=True).stdout
        key = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
        yield f"[commit]\ngpgSign = true\n[gpg]\nprogram = {program}\n[user]\nsigningKey = {key}\n"
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)
