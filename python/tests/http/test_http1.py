"""Connect and gRPC-Web over HTTP/1.1, and requests that are none (http.md 4 to 7, limits.md 6)."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from unittest import mock

from conformance.v1 import conformance_pb2 as pb
from tests.public.kit import COUNT, ECHO, JOIN, PATIENCE, Gate, echo, eventually, join
from trunkcall import Calls, Code, Limits, PortProtocol, ServerCall, StatusError, codefirst, unary
from trunkcall.http import http1stream

from .kit import ECHO_PATH, HttpCase, answer_of, framed, post


class Connect(HttpCase):
    async def test_one_connection_serves_one_request_after_the_other(self) -> None:
        server, address = await self.serve()
        reader, writer = await self.http1(address, post(b"one") + post(b"two"))
        self.assertEqual([(await answer_of(reader))[2] for _ in range(2)], [b"one", b"two"])
        writer.write(post(b"three"))
        self.assertEqual((await answer_of(reader))[2], b"three")
        self.assertEqual(server.gauges().connections, 1)

    async def test_a_failure_is_told_as_connect_has_it(self) -> None:
        async def fails(request: bytes, call: ServerCall) -> bytes:
            raise StatusError(Code.NOT_FOUND, "none", trailer=[("why", "so")])

        _, address = await self.serve(ECHO.handler(fails))
        status, fields, body = await self.exchanged(address, post(b""))
        self.assertEqual((status, json.loads(body)), (404, {"code": "not_found", "message": "none"}))
        self.assertEqual((fields["trailer-why"], fields["content-type"]), ("so", "application/json"))

    async def test_a_stream_says_in_its_last_message_how_it_ended(self) -> None:
        _, address = await self.serve()
        request = post(framed(b"2"), COUNT.name, "application/connect+raw")
        status, fields, body = await self.exchanged(address, request)
        self.assertEqual((status, fields["content-type"]), (200, "application/connect+raw"))
        self.assertEqual(body, framed(b"0") + framed(b"1") + framed(b"{}", 2))

    async def test_chunks_are_read_as_they_come(self) -> None:
        _, address = await self.serve(JOIN.handler(join))
        head = f"POST {JOIN.name} HTTP/1.1\r\nHost: here\r\nContent-Type: application/connect+raw\r\n"
        reader, writer = await self.http1(address, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for piece in (framed(b"a"), framed(b"b")):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        self.assertEqual((await answer_of(reader))[2], framed(b"a,b") + framed(b"{}", 2))

    async def test_a_go_ahead_is_given_when_the_body_is_wanted(self) -> None:
        _, address = await self.serve()
        request = post(b"body", ECHO_PATH, "application/raw", "Expect: 100-continue")
        reader, writer = await self.http1(address, request[:-4])
        async with asyncio.timeout(PATIENCE):
            self.assertIn(b" 100 ", await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"body")
        self.assertEqual((await answer_of(reader))[2], b"body")

    async def test_a_deadline_is_told_though_the_handler_runs_on(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        reader, _ = await self.http1(address, post(b"", ECHO_PATH, "application/raw", "Connect-Timeout-Ms: 50"))
        status, _, body = await answer_of(reader)
        self.assertEqual((status, json.loads(body)["code"]), (504, "deadline_exceeded"))
        await eventually(lambda: server.running == 0)

    async def test_a_caller_that_goes_cancels_its_call(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        _, writer = await self.http1(address, post(b""))
        await asyncio.wait_for(gate.begun.wait(), PATIENCE)
        writer.close()
        await asyncio.wait_for(gate.cancelled.wait(), PATIENCE)
        await eventually(lambda: server.gauges().connections == 0)

    async def test_what_follows_the_header_of_a_get_is_no_part_of_its_message(self) -> None:
        begun, gate = asyncio.Event(), asyncio.Event()

        async def answers(request: pb.Request, call: ServerCall) -> pb.Answer:
            begun.set()
            await gate.wait()
            return pb.Answer()

        read = unary("/trunkcall.conformance.v1.ConformanceService/Read", pb.Request, pb.Answer)
        server, address = await self.serve(read.handler(answers))
        size = 1 << 20
        target = f"{read.name}?connect=v1&encoding=json&message=%7B%7D"
        head = f"GET {target} HTTP/1.1\r\nHost: here\r\nContent-Length: {size}\r\n\r\n"
        reader, writer = await self.http1(address, head.encode())
        await asyncio.wait_for(begun.wait(), PATIENCE)
        writer.write(bytes(size))
        (end,) = server._connections
        connection: Any = end.connection
        await eventually(lambda: bool(connection._current.request_ended))
        self.assertEqual(server.gauges().held_bytes, 0)
        gate.set()
        status, _, body = await answer_of(reader)
        self.assertEqual((status, body), (200, b"{}"))

    async def test_only_what_is_said_to_have_no_side_effects_is_called_by_get(self) -> None:
        @codefirst.service("calc")
        class Calculator:
            @codefirst.method(no_side_effects=True)
            async def add(self, a: int, b: int) -> int:
                return a + b

            @codefirst.method("store", no_side_effects=False)
            async def keep(self, a: int) -> None: ...

        safe = unary("/test.Service/Safe", bytes, bytes).handler(echo, no_side_effects=True)
        _, address = await self.serve(*codefirst.handlers(Calculator()), safe)
        for target, wanted in (
            ("/calc/add?encoding=json&message=%5B1,2%5D", (200, b"3")),
            ("/test.Service/Safe?encoding=raw&message=x", (200, b"x")),
            ("/calc/store?encoding=json&message=%5B1%5D", (405, None)),
        ):
            get = f"GET {target} HTTP/1.1\r\nHost: here\r\n\r\n".encode()
            status, _, body = await self.exchanged(address, get)
            self.assertEqual((status, body if wanted[1] else None), wanted, target)

    async def test_an_answer_that_cannot_be_written_ends_the_connection_and_its_handler_counts_no_more(self) -> None:
        server, address = await self.serve()
        with mock.patch.object(http1stream, "head_of", side_effect=ValueError("not so")):
            reader, _ = await self.http1(address, post(framed(b"3"), COUNT.name, "application/connect+raw"))
            self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")
            await eventually(lambda: server.running == 0 and server.gauges().connections == 0)


class Web(HttpCase):
    async def test_the_trailers_are_the_last_message(self) -> None:
        _, address = await self.serve()
        status, _, body = await self.exchanged(address, post(framed(b"x"), ECHO_PATH, "application/grpc-web+raw"))
        self.assertEqual((status, body), (200, framed(b"x") + framed(b"grpc-status: 0\r\n", 0x80)))

    async def test_text_may_be_padded_anywhere(self) -> None:
        _, address = await self.serve()
        whole = framed(b"text")
        sent = base64.b64encode(whole[:4]) + base64.b64encode(whole[4:])
        _, _, body = await self.exchanged(address, post(sent, ECHO_PATH, "application/grpc-web-text+raw"))
        pieces = (framed(b"text"), framed(b"grpc-status: 0\r\n", 0x80))
        self.assertEqual(body, b"".join(base64.b64encode(piece) for piece in pieces))


class Requests(HttpCase):
    async def test_what_is_no_call_gets_its_status(self) -> None:
        _, address = await self.serve(limits=Limits(message_bytes=100))
        get = "GET /test.Service/Echo HTTP/1.1\r\nHost: here\r\n\r\n"
        cases = {
            "another method": (get.encode(), 405),
            "nothing is there": (get.replace("/test.Service/Echo", "/").encode(), 404),
            "no host": (get.replace("Host: here\r\n", "").encode(), 400),
            "folded": (get.replace("Host: here", "Host: here\r\n more").encode(), 400),
            "bare line ends": (get.replace("\r\nHost", "\nHost").encode(), 400),
            "no HTTP": (b"GARBAGE\r\n\r\n", 400),
            "two lengths": (post(b"", ECHO_PATH, "application/raw", "Content-Length: 1"), 400),
            "length and chunks": (post(b"", ECHO_PATH, "application/raw", "Transfer-Encoding: chunked"), 400),
            "another coding": (
                get.replace("GET", "POST").replace("here\r\n", "here\r\nTransfer-Encoding: gzip\r\n").encode(),
                501,
            ),
            "another content type": (post(b"", ECHO_PATH, "text/plain"), 415),
            "another charset": (post(b"", ECHO_PATH, "application/raw; charset=latin-1"), 415),
            "too long": (post(b"x" * 101), 429),
            "a long header": (post(b"", ECHO_PATH, "application/raw", "Key: " + "v" * 40_000), 431),
            "a long header without an end": (b"GET / HTTP/1.1\r\nKey: " + b"v" * 40_000, 431),
            "metadata": (post(b"", ECHO_PATH, "application/raw", "Key: " + "v" * 17_000), 429),
        }
        for name, (request, status) in cases.items():
            with self.subTest(name):
                self.assertEqual((await self.exchanged(address, request))[0], status)

    async def test_where_a_request_ends_has_one_reading(self) -> None:
        server, address = await self.serve()
        smuggled = post(b"smuggled")
        for lines in (
            ("Content-Length: 4, 5",),
            ("Content-Length: +4",),
            ("Content-Length: 4 4",),
            ("Content-Length: 0x4",),
            ("Content-Length : 4",),
            ("Content-Length: -1",),
            ("Content-Length: 4", "Content-Length: 5"),
            ("Content-Length: 4", "Transfer-Encoding: chunked"),
            ("Transfer-Encoding: chunked", "Content-Length: 4"),
            ("Transfer-Encoding: chunked, identity",),
            ("Transfer-Encoding: identity, chunked",),
            ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
            ("Transfer-Encoding : chunked",),
            ("Transfer-Encoding: x\rTransfer-Encoding: chunked",),
            ("Transfer-Encoding: \x0bchunked",),
            ("X: y\nContent-Length: 4",),
            ("X: y", " Content-Length: 4"),
        ):
            with self.subTest(lines):
                head = "".join(f"{line}\r\n" for line in lines)
                start = f"POST {ECHO_PATH} HTTP/1.1\r\nHost: here\r\nContent-Type: application/raw\r\n{head}\r\n"
                reader, _ = await self.http1(address, start.encode() + b"0\r\n\r\n" + smuggled)
                status, fields, _ = await answer_of(reader)
                self.assertIn(status, (400, 501))
                self.assertEqual(fields["connection"], "close")
                self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")
        await eventually(lambda: server.gauges().connections == 0)

    async def test_what_follows_a_body_is_the_next_request_wherever_it_is_cut(self) -> None:
        _, address = await self.serve()
        whole = post(b"one") + post(b"GET / HTTP/1.1\r\n\r\n") + post(b"") + post(b"four")
        wanted = [b"one", b"GET / HTTP/1.1\r\n\r\n", b"", b"four"]
        for size in (1, 2, 7, 97, len(whole)):
            reader, writer = await self.http1(address, b"")
            for at in range(0, len(whole), size):
                writer.write(whole[at : at + size])
                await writer.drain()
                await asyncio.sleep(0)
            self.assertEqual([(await answer_of(reader))[2] for _ in wanted], wanted)
            writer.close()

    async def test_a_beginning_that_a_protocol_of_ones_own_may_have_too_comes_in_pieces(self) -> None:
        class Others(PortProtocol):
            name = "others"

            def recognize(self, first: bytes) -> bool | None:
                return None if first in (b"P", b"PO") else first.startswith(b"POX")

            async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, calls: Calls) -> None:
                raise AssertionError

        server, address = await self.serve(protocols=[Others()])
        request = post(b"whole")
        reader, writer = await self.http1(address, b"")
        listener = server._listeners[0]
        writer.write(request[:1])
        await eventually(lambda: [one._seen for one in listener.opening] == [request[:1]])
        writer.write(request[1:2])
        await eventually(lambda: [one._seen for one in listener.opening] == [request[:2]])
        writer.write(request[2:])
        status, _, body = await answer_of(reader)
        self.assertEqual((status, body), (200, b"whole"))

    async def test_malformed_chunks_end_the_call_and_the_connection(self) -> None:
        _, address = await self.serve(JOIN.handler(join))
        head = f"POST {JOIN.name} HTTP/1.1\r\nHost: here\r\nContent-Type: application/connect+raw\r\n"
        reader, _ = await self.http1(address, f"{head}Transfer-Encoding: chunked\r\n\r\nnot a size\r\n".encode())
        _, _, body = await answer_of(reader)
        self.assertIn(b"invalid_argument", body)
        self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")

    async def test_a_draining_server_closes_behind_its_answers(self) -> None:
        gate = Gate()
        server, address = await self.serve(ECHO.handler(gate))
        reader, _ = await self.http1(address, post(b"last"))
        idle, _ = await self.http1(address, post(b"", "/no/where"))
        await answer_of(idle)
        await asyncio.wait_for(gate.begun.wait(), PATIENCE)
        stopping = asyncio.create_task(server.stop())
        await eventually(lambda: server.stopping.is_set())
        self.assertEqual(await asyncio.wait_for(idle.read(), PATIENCE), b"")
        gate.open.set()
        status, fields, body = await answer_of(reader)
        self.assertEqual((status, fields["connection"], body), (200, "close", b"last"))
        self.assertTrue(await asyncio.wait_for(stopping, PATIENCE))

    async def test_pages_of_other_origins_are_let_in_where_they_are_listed(self) -> None:
        _, address = await self.serve(ECHO.handler(echo), origins=["https://app.example.com"])
        asks = (
            "OPTIONS /test.Service/Echo HTTP/1.1\r\nHost: here\r\nOrigin: {}\r\n"
            "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: key\r\n\r\n"
        )
        status, fields, _ = await self.exchanged(address, asks.format("https://app.example.com").encode())
        self.assertEqual((status, fields["access-control-allow-headers"]), (204, "key"))
        status, fields, _ = await self.exchanged(address, asks.format("https://other.example.com").encode())
        self.assertEqual((status, "access-control-allow-origin" in fields), (403, False))
        request = post(b"", ECHO_PATH, "application/raw", "Origin: https://app.example.com")
        _, fields, _ = await self.exchanged(address, request)
        self.assertEqual(fields["access-control-expose-headers"], "*")
