"""How soon a client hears of changes, in a registry that has many instances of the service, and what memory that takes.

    build/python/bin/python -m conformance.registries.measure etcd zookeeper consul --count 10000 --rate 100
    build/python/bin/python -m conformance.registries.measure trunkcall etcd --client java --client python
    build/python/bin/python -m conformance.registries.measure consul --count 1000 --others 9

The registry, who changes it and the client are processes of their own, on one machine. `trunkcall` is the embedded
registry, served by Go's reference program. Whoever fills and changes is in Go; the client is in Go unless another
language is named. A change is a server that comes,
or goes: it counts from the moment at which the registry has confirmed that it is published, or at which it is asked to
withdraw, until the client's balancer is called with the set. What the processes take of the processors is told as well,
since all of them share those. For Consul the many stand at nodes of their own in its catalog, as
those of an agent each would.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

from harness.languages import ROOT, environment, languages
from harness.processes import Failed, Process, read_all, run
from harness.registries import SERVERS, Consul, Embedded, RegistryServer, missing
from harness.registries.consul import pieces

SERVICE = "trunkcall.measure.v1.Many"
HERE = Path(__file__).parent
MEASURE = ROOT / "build" / "measure-registries"
CLASSES = ROOT / "build" / "measure-registries-java"
JARS = ROOT / "build" / "java" / "registries" / "*"
# By language: how a client is made ready, and how it is started.
BUILDS = {
    "go": ("go", "build", "-C", "conformance/registries/go", "-o", str(MEASURE), "./measure"),
    "java": ("javac", "-d", str(CLASSES), "-cp", str(JARS), str(HERE / "java" / "Watch.java")),
}
CLIENTS = {
    "go": (str(MEASURE), "watch", "--registry", "{name}", "--count", "{count}"),
    "java": ("java", "-cp", f"{CLASSES}:{JARS}", "Watch", "{name}", "{count}"),
    "python": (sys.executable, "-m", "conformance.registries.watch", "--registry", "{name}", "--count", "{count}"),
}
PER_NODE = 100
PATIENCE = 300.0
LOOK = 0.2  # how often what processes say is taken, or their pipes would be full
SILENCE = 10.0  # after which no more is to be heard of changes


def fill_catalog(store: Consul, service: str, count: int) -> None:
    for number in range(count):
        id = f"instance-{number:05d}"
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:4000"
        record = f'{{"addresses":["{address}"],"id":"{id}","service":"{service}","version":"1.4.2","zone":"here"}}'
        key = f"{service}/{id}"
        body = {
            **{"Node": f"node-{number // PER_NODE}", "Address": "127.0.0.1", "SkipNodeUpdate": number % PER_NODE != 0},
            "Service": {"ID": key, "Service": service, "Meta": pieces(record.encode())},
            "Check": {"CheckID": f"service:{key}", "Name": "TTL", "ServiceID": key, "Status": "passing"},
        }
        store.ask("PUT", "catalog/register", body)


def processor(one: Process) -> float:
    """The processor's time that a process has used, in seconds; it may have ended, and not be reaped yet."""
    return time.clock_gettime((~one.pid << 3) | 2)


def changes(lines: list[str]) -> dict[tuple[str, str], int]:
    return {(what, id): int(at) for what, id, at in (line.split() for line in lines if line.count(" ") == 2)}


def started(kind: str) -> RegistryServer:
    return SERVERS[kind]() if kind in SERVERS else Embedded(languages()["go"].program)


@contextlib.contextmanager
def filled(store: RegistryServer, services: list[str], count: int, lease: int) -> Generator[None]:
    """Has so many instances of each service in a registry."""
    with contextlib.ExitStack() as until:
        for service in services:
            if isinstance(store, Consul) and store.kind == Consul.kind:
                fill_catalog(store, service, count)
                continue
            name = store.name if isinstance(store, Embedded) else store.name_at(store.address, lease=lease)
            words = ["fill", "--registry", name, "--service", service, "--count", str(count)]
            filling = Process([str(MEASURE), *words], stdin=True)
            until.callback(filling.end, 30.0)
            filling.line(PATIENCE)
        yield


def measure(store: RegistryServer, client: str, options: argparse.Namespace) -> str:
    rate, seconds = options.rate, options.seconds
    began = time.monotonic()
    words = [word.format(name=store.name, count=options.count) for word in CLIENTS[client]]
    watching = Process(words, stdin=True)
    there = watching.line(PATIENCE)
    took = time.monotonic() - began
    flags = ("--registry", store.name, "--rate", str(rate), "--for", f"{seconds}s")
    serving = store.process
    assert serving is not None
    changing = Process([str(MEASURE), "change", *flags])
    since, used = time.monotonic(), [processor(one) for one in (watching, serving, changing)]
    while changing.stdout_open and time.monotonic() < since + seconds + PATIENCE:
        read_all([one for one in (watching, changing) if one.stdout_open], LOOK)
    passed = time.monotonic() - since
    used = [processor(one) - before for one, before in zip((watching, serving, changing), used, strict=True)]
    made = changes([line for _, line in changing.lines])
    unheard = set(made)
    heard: dict[tuple[str, str], int] = {}
    with contextlib.suppress(Failed):  # who comes and goes between two sets is in none
        while unheard:
            heard |= (one := changes([watching.line(SILENCE)]))
            unheard -= one.keys()
    watching.write("\n")
    before, resident, heap, left = (int(word) / 1e6 for word in watching.line(PATIENCE).split()[1:])
    for process in (watching, changing):
        process.end(30.0)
    late = sorted((heard[one] - at) / 1e6 for one, at in made.items() if one in heard)
    if not late:
        raise Failed(f"{store.kind}, {client}: of {len(made)} changes none was seen")
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    over = sum(1 for one in late if one > 50)
    costs = [f"{1000 * part / len(made):.1f}" for part in used]
    return (
        f"{store.kind}, {client}: {there.removeprefix('ready ')} instances, there after {took:.1f} s, "
        f"{len(made) / seconds:.0f} changes/s: p50 {p50:.1f} ms, "
        f"p99 {p99:.1f} ms, most {late[-1]:.1f} ms, "
        f"{over} of {len(late)} above 50 ms, {len(made) - len(late)} not seen; "
        f"resident {before:.0f} MB and then {resident:.0f} MB at most, heap {heap:.0f} MB and then {left:.0f} MB; "
        f"processor's time a change: client {costs[0]} ms, registry {costs[1]} ms, who changes {costs[2]} ms, "
        f"together {sum(used) / passed / len(os.sched_getaffinity(0)):.0%} of the processors"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    all_there_are = [Embedded.kind, *SERVERS]
    help = ", ".join(all_there_are)
    parser.add_argument("registries", nargs="*", default=all_there_are, metavar="REGISTRY", help=help)
    parser.add_argument("--client", action="append", choices=CLIENTS, help="the client's language, go unless given")
    parser.add_argument("--count", type=int, default=10_000, help="instances of the service")
    parser.add_argument("--others", type=int, default=0, help="other services, with as many instances each")
    parser.add_argument("--rate", type=float, default=100.0, help="changes a second")
    parser.add_argument("--for", dest="seconds", type=float, default=10.0, help="how long, in seconds")
    parser.add_argument("--lease", type=int, default=3600, help="of the many, in seconds")
    options = parser.parse_args()
    if unknown := set(options.registries) - set(all_there_are):
        parser.error(f"there is no registry {', '.join(sorted(unknown))}; there are {help}")
    clients = options.client or ["go"]
    programs = (sys.executable, "-m", "scripts.language", "build", "peer", "registries")  # or old ones were measured
    for command in (programs, *(BUILDS[language] for language in sorted({"go", *clients} & set(BUILDS)))):
        built = run(command, cwd=ROOT, env=environment(), patience=1200)
        if built.status != 0:
            print(built.stderr, file=sys.stderr)
            return 1
    services = [SERVICE, *(f"{SERVICE}{number}" for number in range(options.others))]
    for kind in options.registries:
        if kind in SERVERS and (why := missing(kind)):
            print(f"{kind} is left out: {why}")
            continue
        with started(kind) as store, filled(store, services, options.count, options.lease):
            for client in clients:
                print(measure(store, client, options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
