"""The wheel has what it should, and the README's first service runs with nothing but it."""

from __future__ import annotations

import email
import re
import shutil
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from .installed import ENVIRONMENT, INTERPRETER, PYTHON, ROOT, installed, run, wheel

PROJECT = tomllib.loads((PYTHON / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def contents() -> dict[str, bytes]:
    with zipfile.ZipFile(wheel()) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(contents: dict[str, bytes]) -> Message:
    (name,) = [name for name in contents if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(contents[name])


def test_it_has_the_package_its_mark_of_types_and_its_licence_and_nothing_else(contents: dict[str, bytes]) -> None:
    source = PYTHON / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "trunkcall").rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    assert {name for name in contents if ".dist-info/" not in name} == {*wanted, "trunkcall/py.typed"}
    (licence,) = [text for name, text in contents.items() if name.endswith("/licenses/LICENSE")]
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_it_is_for_every_platform() -> None:
    assert wheel().name.endswith("-py3-none-any.whl")


def test_its_metadata(metadata: Message) -> None:
    assert (metadata["Name"], metadata["License-Expression"], metadata["Requires-Python"]) == (
        "trunkcall",
        "Apache-2.0",
        ">=3.11",
    )
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True) == (PYTHON / "README.md").read_bytes()


def test_it_requires_protobuf_alone_and_all_else_by_extras(metadata: Message) -> None:
    required = metadata.get_all("Requires-Dist", [])
    always = [one for one in required if "extra ==" not in one]
    assert [re.match(r"[\w.-]+", one)[0] for one in always] == ["protobuf"]  # type: ignore[index]
    extras = set(PROJECT["optional-dependencies"])
    assert {"http", "msgspec", "websocket"} < extras
    assert set(metadata.get_all("Provides-Extra", [])) == extras
    assert {extra for one in required for extra in re.findall(r"extra == '(\w+)'", one)} == extras


def test_every_public_module_is_imported_from_the_environment(tmp_path: Path) -> None:
    installed()
    program = (
        "import sys, trunkcall, trunkcall.blocking, trunkcall.codefirst, trunkcall.grpcstub.aio, "
        "trunkcall.testing.blocking\n"
        "print(*{module.__file__ for name, module in sys.modules.items() if name.startswith('trunkcall')}, "
        "*sys.path, sep='\\n')"
    )
    places = run(INTERPRETER, "-W", "error", "-c", program, folder=tmp_path).split("\n")
    within = [place for place in places if Path(place).is_relative_to(ENVIRONMENT)]
    assert len(within) > 50
    assert [place for place in places if Path(place).is_relative_to(ROOT) and place not in within] == []


def test_the_readme_word_for_word(tmp_path: Path) -> None:
    """Its first command makes what is there already."""
    installed()
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("**Python.**")[2]
    block = re.search(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block
    first, *commands = block[1].splitlines()
    assert first == "python3 -m venv env && env/bin/pip install REPOSITORY/python grpcio-tools"
    for name in ("greeter.proto", "hello.py"):
        shutil.copy(ROOT / "examples" / "hello" / name, tmp_path)
    (tmp_path / "env").symlink_to(ENVIRONMENT)
    printed = run("sh", "-e", "-c", "\n".join(commands), folder=tmp_path).splitlines()
    assert [line.partition(" (")[0] for line in printed] == ["hello Ada", "INVALID_ARGUMENT: who?"]
