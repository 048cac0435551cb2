"""How soon a client hears of changes, in a registry that has many instances of the service, and what memory that takes.

    build/python/bin/python -m conformance.registries.measure etcd zookeeper consul --count 10000 --rate 100

The registry, who changes it and the client are processes of their own, on one machine. A change is a server that comes,
or goes: it counts from the moment at which the registry has confirmed that it is published, or at which it is asked to
withdraw, until the client's balancer has the set. For Consul the many stand at nodes of their own in its catalog, as
those of an agent each would.
"""

from __future__ import annotations

import argparse
import sys

from harness.languages import ROOT, environment
from harness.processes import Process, run
from harness.registries import SERVERS, Consul, RegistryServer, missing
from harness.registries.consul import pieces

SERVICE = "trunkcall.measure.v1.Many"
MEASURE = ROOT / "build" / "measure-registries"
PER_NODE = 100
PATIENCE = 300.0


def fill_catalog(store: Consul, count: int) -> None:
    for number in range(count):
        id = f"instance-{number:05d}"
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:4000"
        record = f'{{"addresses":["{address}"],"id":"{id}","service":"{SERVICE}","version":"1.4.2","zone":"here"}}'
        key = f"{SERVICE}/{id}"
        body = {
            **{"Node": f"node-{number // PER_NODE}", "Address": "127.0.0.1", "SkipNodeUpdate": number % PER_NODE != 0},
            "Service": {"ID": key, "Service": SERVICE, "Meta": pieces(record.encode())},
            "Check": {"CheckID": f"service:{key}", "Name": "TTL", "ServiceID": key, "Status": "passing"},
        }
        store.ask("PUT", "catalog/register", body)


def changes(lines: list[str]) -> dict[tuple[str, str], int]:
    return {(what, id): int(at) for what, id, at in (line.split() for line in lines if line.count(" ") == 2)}


def measure(store: RegistryServer, count: int, rate: float, seconds: float) -> str:
    words = [str(MEASURE)]
    name = ("--registry", store.name_at(store.address, lease=3600))
    filling = None
    if isinstance(store, Consul):
        fill_catalog(store, count)
    else:
        filling = Process([*words, "fill", *name, "--count", str(count)], stdin=True)
        filling.line(PATIENCE)
    watching = Process([*words, "watch", *name], stdin=True)
    there = watching.line(PATIENCE)
    changing = Process([*words, "change", "--registry", store.name, "--rate", str(rate), "--for", f"{seconds}s"])
    changing.wait(seconds + PATIENCE)
    made = changes([line for _, line in changing.lines])
    wanted = set(made)
    heard: dict[tuple[str, str], int] = {}
    while wanted - set(heard):
        heard |= changes([watching.line(PATIENCE)])
    watching.write("\n")
    memory = watching.line(PATIENCE).split()
    for process in (watching, changing, *([filling] if filling else [])):
        process.end(30.0)
    late = sorted((heard[one] - at) / 1e6 for one, at in made.items())
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    over = sum(1 for one in late if one > 50)
    return (
        f"{store.scheme}: {there.removeprefix('ready ')} instances, "
        f"{len(late) / seconds:.0f} changes/s: p50 {p50:.1f} ms, "
        f"p99 {p99:.1f} ms, most {late[-1]:.1f} ms, {over} of {len(late)} above 50 ms; "
        f"resident {int(memory[1]) / 1e6:.0f} MB at most, heap {int(memory[2]) / 1e6:.0f} MB"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("registries", nargs="*", default=list(SERVERS), metavar="REGISTRY", help=", ".join(SERVERS))
    parser.add_argument("--count", type=int, default=10_000, help="instances of the service")
    parser.add_argument("--rate", type=float, default=100.0, help="changes a second")
    parser.add_argument("--for", dest="seconds", type=float, default=10.0, help="how long, in seconds")
    options = parser.parse_args()
    if unknown := set(options.registries) - set(SERVERS):
        parser.error(f"there is no registry {', '.join(sorted(unknown))}; there are {', '.join(SERVERS)}")
    words = ["go", "build", "-C", "conformance/registries/go", "-o", str(MEASURE), "./measure"]
    built = run(words, cwd=ROOT, env=environment(), patience=600)
    if built.status != 0:
        print(built.stderr, file=sys.stderr)
        return 1
    for scheme in options.registries:
        if why := missing(scheme):
            print(f"{scheme} is left out: {why}")
            continue
        with SERVERS[scheme]() as store:
            print(measure(store, options.count, options.rate, options.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
