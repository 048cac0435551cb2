"""The servers of registries are what tests take them for, those that are on this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import guard
from harness.ports import Port
from harness.registries import SERVERS, Folder, RegistryServer, missing
from harness.registries.consul import joined, pieces
from harness.registries.zookeeper import password

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 20.0
SERVICE = "example.Names"


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[RegistryServer]:
    if why := missing(request.param):
        pytest.skip(f"{request.param} is left out: {why}")
    with SERVERS[request.param]() as server:
        yield server


def test_what_is_put_there_stands_there_until_it_is_emptied(server: RegistryServer) -> None:
    assert server.entries(SERVICE) == {}
    server.put(SERVICE, "one", b'{"id": "one"}')
    server.put(SERVICE, "two", b"rubbish")
    server.put(SERVICE, "two", b"other rubbish")
    server.put("example.Other", "one", "ä".encode() * 2000)
    assert server.entries(SERVICE) == {"one": b'{"id": "one"}', "two": b"other rubbish"}
    assert server.entries("example.Other") == {"one": "ä".encode() * 2000}
    server.remove(SERVICE, "one")
    server.remove(SERVICE, "nobody")
    assert server.entries(SERVICE) == {"two": b"other rubbish"}
    server.empty()
    assert server.entries(SERVICE) == {} == server.entries("example.Other")


def test_it_is_killed_and_comes_back_at_its_address_with_its_data(server: RegistryServer) -> None:
    server.put(SERVICE, "one", b"{}")
    address = server.address
    server.kill()
    with pytest.raises(OSError):
        server.entries(SERVICE)
    server.start()
    assert (server.address, server.entries(SERVICE)) == (address, {"one": b"{}"})
    server.stop()
    server.start()
    assert server.entries(SERVICE) == {"one": b"{}"}


def test_while_it_is_stopped_nothing_is_answered(server: RegistryServer) -> None:
    server.pause()
    assert server.process is not None
    state = Path(f"/proc/{server.process.pid}/stat")
    deadline = time.monotonic() + LIMIT
    while state.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline, "it has not stopped"
    server.resume()
    server.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_it_and_its_data(server: RegistryServer, number: signal.Signals) -> None:
    program = f"""
import sys
from harness import interrupts
from harness.registries import SERVERS
interrupts.install()
with SERVERS[{server.kind!r}]() as server:
    print(server.folder, server.process.mark, flush=True)
    sys.stdin.read()
"""
    words = [sys.executable, "-c", program]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as tests:
        assert tests.stdout is not None
        folder, mark = tests.stdout.readline().split()
        assert Path(folder).exists() and guard.marked(mark)
        tests.send_signal(number)
        tests.wait(LIMIT)
    deadline = time.monotonic() + LIMIT
    while number == signal.SIGKILL and Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.01)  # the guard is at it
    assert not Path(folder).exists()
    assert guard.marked(mark) == []


def test_a_folder_is_taken_away_and_comes_back_with_what_stands_there() -> None:
    folder = Folder()
    try:
        folder.put(SERVICE, "one", b"{}")
        lease = folder.here / SERVICE / "two.lease"
        lease.write_bytes(b"renewed")
        assert folder.entries(SERVICE) == {"one": b"{}", "two": b"renewed"}
        folder.kill()
        with pytest.raises(OSError):
            folder.put(SERVICE, "one", b"")
        folder.start()
        folder.spoil(SERVICE, ["two", "three"], b"rubbish")
        assert lease.read_bytes() == b"rubbish"
        assert folder.entries(SERVICE) == {"one": b"{}", "two": b"rubbish", "three": b"rubbish"}
        folder.kill()
        folder.recover()
        assert folder.entries(SERVICE) == {}
    finally:
        folder.close()
    assert not folder.folder.exists()


def test_ports_are_given_to_one_at_a_time() -> None:
    ports = [Port() for _ in range(50)]
    assert len({port.number for port in ports}) == 50
    for port in ports:
        port.close()


def test_consul_has_a_record_in_pieces_of_whole_characters() -> None:
    for text in ("", "{}", "a" * 512, "a" * 513, "ä" * 300, "a" + "€" * 500):
        found = pieces(text.encode())
        assert all(len(one.encode()) <= 512 for one in found.values())
        assert joined(found) == text.encode()


def test_zookeepers_password_of_a_session_is_known() -> None:
    assert password(0) == bytes(16)
    assert len(password(0x1000_0000_0001)) == 16
