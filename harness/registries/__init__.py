"""Real servers of other registries for tests, each on the loopback interface with a data folder of its own.

    with Etcd() as store:
        store.name                        "etcd:127.0.0.1:20417", for --registry
        store.name_at(proxy.address)      through a proxy
        store.pause(); store.resume()     SIGSTOP, SIGCONT
        store.kill(); store.start()       with its data, at its port
        store.entries(service), store.put(service, id, b"rubbish"), store.empty(), store.expire()

`SERVERS` are all of them by their kind: their scheme, and `consul-keys`. What `make registries` has prepared, or this
machine has, is started; Missing tells what is not there. Embedded and Folder are Trunkcall's own registries, for the
same to be done to them. Standard library only.
"""

from __future__ import annotations

from harness.registries.base import RegistryServer, Store
from harness.registries.consul import Consul, ConsulKeys
from harness.registries.embedded import Embedded
from harness.registries.etcd import Etcd
from harness.registries.folder import Folder
from harness.registries.programs import Missing
from harness.registries.zookeeper import ZooKeeper

SERVERS: dict[str, type[RegistryServer]] = {one.kind: one for one in (Etcd, ZooKeeper, Consul, ConsulKeys)}

__all__ = [
    "SERVERS",
    "Consul",
    "ConsulKeys",
    "Embedded",
    "Etcd",
    "Folder",
    "Missing",
    "RegistryServer",
    "Store",
    "ZooKeeper",
    "missing",
]


def missing(kind: str) -> str:
    """Why there is no server of it on this machine; empty if there is one."""
    try:
        SERVERS[kind].program()
    except Missing as why:
        return str(why)
    return ""
