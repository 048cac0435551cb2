"""Three servers in three languages, found in a registry and restarted in turn, while three clients call them without a
pause: no call fails. `make discovery` builds what this starts.

    python3 examples/discovery/run.py [REGISTRY ...]

REGISTRY is one of
    trunkcall             the embedded registry, which is started for this (the default)
    file                  a folder, which is made for this
    etcd, zookeeper, consul, consul-keys
                          one that is started for this, of what `make registries` has prepared or this machine has
    NAME                  one that is there, by its name in docs/discovery.md, such as etcd:10.0.0.1:2379

The servers and clients are the programs `discovery` of examples/go, examples/java and examples/python. Exit status: 0
no call failed, and each server has answered each client, before its restart and after; 1 otherwise, and stderr says
what was not so; 2 the command line is at fault.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from harness import guard, interrupts, processes, registries
from harness.languages import Language, hub
from harness.languages import languages as all_languages
from harness.prerequisites import missing
from harness.processes import PATIENCE, Failed, Process, Server

# The word in the log of a server that cannot reach its registry, and how long it may try.
UNREACHED = "not published in a registry"
TRIED = 5.0
# How long calls go on once the last server is back, in seconds.
AFTERWARDS = 1.0
# What is started for this, by the word on the command line.
STARTED = ("trunkcall", "file", *registries.SERVERS)


class Usage(Exception):
    """A command line at fault."""


@contextlib.contextmanager
def registry(word: str) -> Iterator[str]:
    """The name of a registry, which is there while the block lasts. Raises Usage, Failed."""
    if ":" in word:
        yield word
    elif word == "trunkcall":
        words = (*hub().words(hub().peer.program), "registry", "--listen", "127.0.0.1:0")
        there(words[0])
        with Server(words) as server:
            yield f"trunkcall:{server.address}"
    elif word == "file":
        folder = Path(tempfile.mkdtemp(prefix="trunkcall-"))
        guard.removing(folder)  # where this is killed, and those that were started for it
        try:
            yield f"file:{folder}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    elif word in registries.SERVERS:
        try:
            server_of = registries.SERVERS[word]()
        except registries.Missing as why:
            raise Failed(f"{word} is not here: {why}") from None
        with server_of as store:
            yield store.name
    else:
        raise Usage(
            f"there is no registry {word!r}; there are {', '.join(STARTED)}, and names such as etcd:10.0.0.1:2379"
        )


def there(program: str) -> None:
    """Raises Failed if a program is not there."""
    if not Path(program).exists():
        raise Failed(f"{program} is not there: `make discovery` builds it")


def start(language: Language, *words: str) -> Process:
    return Process([*language.words(language.discovery), *words], cwd=ROOT)


class OneServer:
    """A server, which is started again at its address under another name: a number more."""

    def __init__(self, language: Language, registry: str) -> None:
        self.language, self.registry = language, registry
        self.starts = 0
        self.address: str | None = None
        self.ran: dict[str, int] = {}  # by its names, how many calls it has executed
        self.process: Process | None = None

    @property
    def name(self) -> str:
        return f"{self.language.key}-{self.starts}"

    def start(self) -> None:
        self.starts += 1
        self.process = start(
            self.language, "serve", self.registry, self.name, *([self.address] if self.address else [])
        )

    def end(self) -> None:
        """Whatever it is doing."""
        if self.process is not None:
            self.process.end()

    def wait(self) -> None:
        """Returns once it is published. Raises Failed."""
        assert self.process is not None
        began = time.monotonic()
        while not self.process.lines and self.process.stdout_open:
            waited = time.monotonic() - began
            told = next((line for line in self.process.said().splitlines() if UNREACHED in line), "")
            if told and waited > TRIED:
                self.process.kill()
                raise Failed(f"{self.name} cannot be published in {self.registry}: {told}")
            if waited > PATIENCE:
                raise self.process.failure(f"said nothing for {PATIENCE:g} s")
            self.process.read(0.1)
        line = self.process.line(0)
        found = re.fullmatch(f"{self.name} serves ([^ ]+)", line)
        if not found:
            raise self.process.failure(f"says {line!r}")
        self.address = found[1]
        print(f"  {line}", flush=True)

    def stopped(self) -> None:
        """Waits for the end of one that was told to stop, and takes what it tells. Raises Failed."""
        assert self.process is not None
        done = self.process.finish()
        told = re.fullmatch(f"{self.name} answered ([0-9]+) calls\n", done.stdout)
        if done.status != 0 or not told:
            raise Failed(f"{self.name} ended with status {done.status} and said {done.stdout!r}", done.stderr)
        self.ran[self.name] = int(told[1])


class OneClient:
    def __init__(self, language: Language, registry: str) -> None:
        self.language = language
        self.found: set[str] = set()
        self.answers: dict[str, int] = {}
        self.process = start(language, "call", registry)

    def wait(self, name: str) -> None:
        """Returns once a server of that name has answered it. Raises Failed."""
        while name not in self.found:
            line = self.process.line()
            if not line.startswith("found "):
                raise self.process.failure(f"says {line!r}")
            self.found.add(line.removeprefix("found "))

    def stopped(self) -> None:
        """Likewise; Failed also if a call failed."""
        done = self.process.finish()
        self.answers = {
            name: int(calls) for name, calls in re.findall(r"(?m)^(\S+) answered ([0-9]+) calls$", done.stdout)
        }
        if done.status != 0 or not done.stdout.endswith("\n0 calls failed\n"):
            raise Failed(
                f"the client in {self.language.name} ended with status {done.status}: {done.stdout}", done.stderr
            )


def show(name: str, languages: list[Language]) -> None:
    """Has servers and clients in these languages meet in a registry. Raises Failed."""
    names = " and ".join(filter(None, [", ".join(one.name for one in languages[:-1]), languages[-1].name]))
    print(f"{name}: a server and a client in each of {names}", flush=True)
    servers = [OneServer(language, name) for language in languages]
    clients: list[OneClient] = []
    with contextlib.ExitStack() as running:
        for server in servers:
            running.callback(server.end)
            server.start()
        for server in servers:
            server.wait()
        for language in languages:
            clients.append(OneClient(language, name))
            running.callback(clients[-1].process.end)
        every_client_has_found(servers, clients)
        for server in servers:
            print(f"  {server.name} stops: it withdraws, then drains", flush=True)
            stop(server)
            server.start()
            server.wait()
            every_client_has_found([server], clients)
        time.sleep(AFTERWARDS)
        stop(*clients)
        stop(*servers)
    tell(servers, clients)


def stop(*all_of_them: OneServer | OneClient) -> None:
    """Tells each to stop, once: for who is told twice to stop does so at once. Raises Failed."""
    for one in all_of_them:
        assert one.process is not None
        one.process.signal(signal.SIGTERM)
    for one in all_of_them:
        one.stopped()


def every_client_has_found(servers: list[OneServer], clients: list[OneClient]) -> None:
    for client in clients:
        for server in servers:
            client.wait(server.name)
    print(f"  {', '.join(server.name for server in servers)}: found by every client", flush=True)


def tell(servers: list[OneServer], clients: list[OneClient]) -> None:
    """Prints who has answered whom. Raises Failed unless each call was executed once."""
    rows = {name: ran for server in servers for name, ran in server.ran.items()}
    heads = [f"client in {client.language.name}" for client in clients]
    print("  " + "".join(f"{head:>18}" for head in ("calls answered to", *heads)))
    for name in rows:
        print("  " + f"{'by ' + name:>18}" + "".join(f"{client.answers.get(name, 0):>18,}" for client in clients))
    for name, ran in rows.items():
        answered = sum(client.answers.get(name, 0) for client in clients)
        if ran != answered:
            raise Failed(f"{name} executed {ran} calls, of which {answered} were answered")
    print(f"  none of {sum(rows.values()):,} calls failed, and each was executed once", flush=True)


def taking_part() -> list[Language]:
    """The languages that have the example, and for which this machine has the tools. Raises Failed."""
    found = []
    for language in all_languages().values():
        if why := language.lacks.suites.get("discovery") or (language.optional and "; ".join(missing(language))):
            print(f"{language.name} is left out: {why}", flush=True)
        else:
            there(language.words(language.discovery)[0])
            found.append(language)
    return found


def main(words: list[str]) -> int:
    if any(word.startswith("-") for word in words):
        print(__doc__, file=sys.stdout if words in (["-h"], ["--help"]) else sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    interrupts.install()
    try:
        languages = taking_part()
        for word in words or ["trunkcall"]:
            with registry(word) as name:
                show(name, languages)
    except interrupts.Interrupted as interrupted:
        processes.end_all()
        return 128 + interrupted.signum
    except Usage as fault:
        print(fault, file=sys.stderr)
        return 2
    except (Failed, OSError) as failure:
        sys.stdout.flush()
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
