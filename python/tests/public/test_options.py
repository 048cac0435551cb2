"""Options are checked where they are given; the error names the option, what was given and what is wanted."""

from __future__ import annotations

import inspect
import logging
import math
import ssl
import unittest
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from trunkcall import (
    Client,
    Endpoint,
    Limits,
    Policy,
    Server,
    client_tls,
    first,
    hash_by,
    round_robin,
    unary,
)

from .kit import ECHO, Case


async def intercept(call: Any, proceed: Any) -> Any:
    return await proceed(call)


def _defaults(make: Any) -> list[tuple[str, Any]]:
    """The options of a client or a server, and what they are by default."""
    found = inspect.signature(make).parameters.values()
    return [(one.name, one.default) for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY]


CLIENT: Any = Client
SERVER: Any = Server

BOTH: list[tuple[dict[str, Any], str]] = [
    (
        {"interceptors": intercept},
        "option interceptors: <function intercept at .*> was given, want a list of functions",
    ),
    ({"interceptors": "token"}, "option interceptors: 'token' was given, want a list of functions"),
    ({"interceptors": iter([intercept])}, "option interceptors: .* was given, want a list of functions"),
    ({"interceptors": [5]}, "option interceptors: 5 was given, want a list of functions"),
    ({"reverse_interceptors": intercept}, "option reverse_interceptors: .* want a list of functions"),
    ({"compression": "gzip"}, "option compression: 'gzip' was given, want trunkcall.GZIP"),
    ({"compression": ["gzip"]}, "option compression: 'gzip' was given, want trunkcall.GZIP"),
    ({"decompression": True}, "option decompression: True was given, want trunkcall.GZIP"),
    ({"codec": "json"}, "option codec: 'json' was given, want a codec, such as trunkcall.PROTOBUF"),
    ({"codecs": "json"}, "option codecs: 'json' was given, want a list of codecs"),
    ({"codecs": [5]}, "option codecs: 5 was given, want a codec"),
    ({"logger": True}, "option logger: True was given, want a logging.Logger"),
    ({"logger": "calls"}, "option logger: 'calls' was given, want a logging.Logger"),
    ({"executor": 4}, "option executor: 4 was given, want a concurrent.futures.Executor"),
    ({"tls": True}, "option tls: True was given, want an ssl.SSLContext, or what client_tls, server_tls or tls_files"),
    ({"tls": "cert.pem"}, "option tls: 'cert.pem' was given, want an ssl.SSLContext"),
    ({"limits": 5}, r"option limits: 5 was given, want Limits\("),
    ({"limits": Limits(calls="5")}, "option limits.calls: '5' was given, want a whole number from 0 to"),  # type: ignore
    ({"observer": print}, "option observer: .* was given, want an object of a class derived of trunkcall.Observer"),
    ({"keepalive": "20"}, "option keepalive: '20' was given, want seconds, at least 0"),
    ({"keepalive": -1}, "option keepalive: -1 was given, want seconds, at least 0"),
    ({"keepalive_timeout": 0}, "option keepalive_timeout: 0 was given, want seconds above 0"),
    ({"memory": "1G"}, "option memory: '1G' was given, want a whole number, at least 1,048,576"),
    ({"memory": 5}, "option memory: 5 was given, want a whole number, at least 1,048,576"),
    ({"repeat": "no"}, "option repeat: 'no' was given, want True or False"),
    ({"running_handlers": 1.5}, "option running_handlers: 1.5 was given, want a whole number"),
    ({"waiting_calls": True}, "option waiting_calls: True was given, want a whole number"),
]

OF_CLIENTS: list[tuple[dict[str, Any], str]] = [
    ({"timeout": "5"}, "option timeout: '5' was given, want seconds above 0"),
    ({"timeout": -1}, "option timeout: -1 was given, want seconds above 0"),
    ({"timeout": math.nan}, "option timeout: nan was given, want seconds above 0"),
    ({"policies": Policy(timeout=1)}, r"option policies: Policy\(.*\) was given, want a list of Policy"),
    ({"policies": [Policy(timeout="1")]}, "option policies: policy of all methods: timeout: '1' was given"),  # type: ignore
    ({"policies": [Policy(repeat=1)]}, "option policies: policy of all methods: repeat: 1 was given"),  # type: ignore
    ({"policies": [5]}, "option policies: 5 was given, want a list of Policy"),
    ({"resolvers": [5]}, r"option resolvers: \[5\] was given, want a dict"),
    ({"balancer": round_robin}, r"option balancer: .* with `balance`: call it, round_robin\(\)"),
    ({"balancer": "first"}, "option balancer: 'first' was given, want a balancer, with `balance`"),
    ({"attempt_observer": Server}, "option attempt_observer: .* with `attempt_began` and `attempt_ended`"),
    ({"dialer": "socks"}, "option dialer: 'socks' was given, want an asynchronous function"),
    ({"connections": "2"}, "option connections: '2' was given, want a whole number, at least 1"),
    ({"server_hostname": 5}, "option server_hostname: 5 was given, want a text"),
    ({"idle_timeout": "1m"}, "option idle_timeout: '1m' was given, want seconds, at least 0"),
]

OF_SERVERS: list[tuple[dict[str, Any], str]] = [
    ({"tls": client_tls()}, r"option tls: a context for clients was given, .* server_tls\(cert, key\)"),
    ({"allow_cleartext": 1}, "option allow_cleartext: 1 was given, want True or False"),
    ({"native_only": "yes"}, "option native_only: 'yes' was given, want True or False"),
    ({"origins": "https://a.example"}, "option origins: 'https://a.example' was given, want a list of texts"),
    ({"origins": [5]}, "option origins: 5 was given, want a text"),
    ({"admission": "token"}, "option admission: 'token' was given, want a function"),
    ({"protocols": 5}, "option protocols: 5 was given, want a list of Protocol objects"),
    ({"protocols": [5]}, "option protocols: 5 was given, want objects of classes derived of trunkcall.Protocol"),
    ({"drain_delay": "5"}, "option drain_delay: '5' was given, want seconds, at least 0"),
    ({"max_connection_age": -1}, "option max_connection_age: -1 was given, want seconds, at least 0"),
]


class Given(unittest.TestCase):
    def refused(self, make: Callable[[], Any], text: str) -> None:
        with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
            make()

    def test_to_clients_and_servers(self) -> None:
        for options, text in BOTH:
            self.refused(lambda options=options: CLIENT("a:1", **options), text)  # type: ignore[misc]
            self.refused(lambda options=options: SERVER(**options), text)  # type: ignore[misc]

    def test_to_clients(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own = ({"tls": context}, r"option tls: a context for servers was given, .* client_tls\(ca\)")
        for options, text in (*OF_CLIENTS, own):
            self.refused(lambda options=options: CLIENT("a:1", **options), text)  # type: ignore[misc]

    def test_to_servers(self) -> None:
        for options, text in OF_SERVERS:
            self.refused(lambda options=options: SERVER(**options), text)  # type: ignore[misc]

    def test_to_endpoints_balancers_and_methods(self) -> None:
        make: Any = Endpoint
        method: Any = unary
        key: Any = 5
        self.refused(lambda: make(["a:1"]), r"option addresses: \['a:1'\] was given, want a text")
        self.refused(lambda: make("a:1", id=5), "option id: 5 was given, want a text")
        self.refused(lambda: make("a:1", attributes="x"), "option attributes: 'x' was given, want a dict of texts")
        self.refused(lambda: hash_by(key), "hash_by takes the name of a metadata entry or a function, not 5")
        self.refused(lambda: method(5, bytes, bytes), "option name: 5 was given, want a text")
        self.refused(lambda: method("/a.B/C", b"", bytes), "option request: b'' was given, want a class of messages")

    def test_no_option_takes_what_would_fail_later(self) -> None:
        optional = {name for make in (CLIENT, SERVER) for name, default in _defaults(make) if default is None}
        for make, more in ((CLIENT, ("a:1",)), (SERVER, ())):
            for name, default in _defaults(make):
                values: list[Any] = [None, math.inf, math.nan, True, "1", []]
                for value in values:
                    taken = (
                        (value is None and name in optional)
                        or (
                            value is True and isinstance(default, bool) and name != "allow_cleartext"
                        )  # which wants TLS
                        or (value == math.inf and name == "timeout")
                        or (value == "1" and name == "zone")
                        or (value == [] and isinstance(default, tuple))
                        or (value == [] and name in ("compression", "decompression"))
                    )
                    with self.subTest(option=name, value=value):
                        if taken:
                            make(*more, **{name: value})
                        else:
                            with self.assertRaisesRegex((TypeError, ValueError), f"^option {name}: "):
                                make(*more, **{name: value})

    def test_no_limit_takes_what_would_fail_later(self) -> None:
        for one in fields(Limits):
            for value in (None, math.inf, math.nan, True, "1"):
                limits: Any = {one.name: value}
                if value is not None or one.default is not None:
                    self.refused(lambda limits=limits: Server(limits=Limits(**limits)), f"option limits.{one.name}: ")  # type: ignore[misc]

    def test_endpoints_and_policies_without_what_they_need(self) -> None:
        make: Any = Endpoint
        self.refused(lambda: make(None), "option addresses: None was given, want a text")
        for name in ("id", "server_name", "zone"):
            self.refused(lambda name=name: make("a:1", **{name: None}), f"option {name}: None was given")  # type: ignore[misc]
        policy: Any = Policy
        self.refused(lambda: Client("a:1", policies=[policy(None, timeout=1)]), "option policies: method: None was")
        self.refused(lambda: CLIENT("a:1", interceptors=[None]), "option interceptors: None was given")

    def test_without_keepalive_its_timeout_says_nothing(self) -> None:
        Client("a:1", keepalive=0, keepalive_timeout=0)
        Server(keepalive=0, keepalive_timeout=0)

    def test_what_is_right_is_taken(self) -> None:
        logger = logging.getLogger("trunkcall.test")
        Client(
            "a:1", interceptors=(intercept,), balancer=first(), logger=logger, timeout=1, keepalive=0, memory=1 << 20
        )
        Client("a:1", interceptors=[intercept], policies=iter([Policy(timeout=math.inf)]))
        Server(origins=["*"], max_connection_age=0.5, interceptors=[intercept])


class OfACall(Case):
    async def test_options_of_a_call(self) -> None:
        _, client = await self.pair()
        call: Any = client.call
        for _ in range(2):  # the first goes the long way
            for options, text in (
                ({"timeout": "5"}, "option timeout: '5' was given, want seconds"),
                ({"compression": "gzip"}, "option compression: 'gzip' was given, want trunkcall.GZIP"),
                ({"codec": "json"}, "option codec: 'json' was given, want a codec"),
            ):
                with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                    await call(ECHO, b"", **options)
            self.assertEqual(await client.call(ECHO, b"x"), b"x")

    async def test_a_keepalive_of_months_is_within_what_the_system_takes(self) -> None:
        _, address = await self.serve(keepalive=1e7)
        self.assertEqual(await self.client(address, keepalive=1e7).call(ECHO, b"x"), b"x")

    async def test_the_grace_of_a_stop(self) -> None:
        server, _ = await self.serve()
        wrong: Any = "30"
        with self.assertRaisesRegex(TypeError, "option grace: '30' was given, want seconds, at least 0"):
            await server.stop(wrong)
