"""Applications of ASGI and WSGI on a server's one port, beside its services (http.md 9)."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any

import fastapi
import flask
from fastapi.responses import StreamingResponse
from h2.errors import ErrorCodes

from tests.public.kit import ECHO, PATIENCE, echo, eventually
from trunkcall import Server

from .kit import HttpCase, answer_of, framed, post
from .test_limits import line, seconds_later

WEB: dict[str, Any] = {"content_type": "text/plain"}


async def told(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it is told of its request, the body behind it."""
    assert scope["type"] == "http"
    body = b""
    more = True
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    names = ("http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path")
    said = {name: scope[name] for name in names} | {"cookie": dict(scope["headers"]).get(b"cookie")}
    await send({"type": "http.response.start", "status": 201, "headers": [(b"X-Kind", b"told")]})
    await send({"type": "http.response.body", "body": repr(said).encode() + body})


async def back(scope: Any, receive: Any, send: Any) -> None:
    """Sends each piece of the body back as it comes."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    more = True
    while more:
        message = await receive()
        more = message["more_body"]
        await send({"type": "http.response.body", "body": message["body"], "more_body": more})


def web(application: Any) -> Any:
    """One that has no lifespan."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await application(scope, receive, send)

    return serve


class Mounting(HttpCase):
    async def both(self, address: str, path: str, body: bytes | None = None, **fields: Any) -> list[tuple[int, bytes]]:
        """What is answered over HTTP/1.1 and HTTP/2."""
        kind = fields.pop("content_type", "text/plain")
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if body is None:
            request = "\r\n".join((f"GET {path} HTTP/1.1", "Host: here", *lines, "", "")).encode()
        else:
            request = post(body, path, kind, *lines)
        status, _, got = await self.exchanged(address, request)
        client = await self.http2(address)
        answer = await client.answer(client.ask(path, body, content_type=kind, **fields))
        return [(status, got), (int(answer.head[":status"]), answer.body)]


class Asgi(Mounting):
    async def test_it_is_told_of_its_request(self) -> None:
        _, address = await self.serve(asgi=told)
        for version, (status, body) in zip(("1.1", "2"), await self.both(address, "/a%20b/c?d=%2B", b"!"), strict=True):
            expected = {
                "http_version": version,
                "method": "POST",
                "scheme": "http",
                "path": "/a b/c",
                "raw_path": b"/a%20b/c",
                "query_string": b"d=%2B",
                "root_path": "",
                "cookie": None,
            }
            self.assertEqual((status, body), (201, repr(expected).encode() + b"!"))

    async def test_cookies_that_stand_apart_are_one_field(self) -> None:
        _, address = await self.serve(asgi=told)
        client = await self.http2(address)
        top = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "here")]
        answer = client.ask("/", None, **WEB)
        await client.answer(answer)
        client.h2.send_headers(client._next, [*top, ("cookie", "a=1"), ("cookie", "b=2")], end_stream=True)
        answer = client.answers[client._next] = type(answer)()
        client.flush()
        await client.answer(answer)
        self.assertIn(b"'cookie': b'a=1; b=2'", answer.body)

    async def test_services_beside_it_are_served_as_ever(self) -> None:
        _, address = await self.serve(asgi=told)
        self.assertEqual(await self.client(address).call(ECHO, b"native"), b"native")
        client = await self.http2(address)
        self.assertEqual((await client.answer(client.ask(body=framed(b"x")))).body, framed(b"x"))
        self.assertEqual((await self.exchanged(address, post(b"x")))[::2], (200, b"x"))
        unknown = await client.answer(client.ask("/no.Service/Where", framed(b"")))
        self.assertEqual(unknown.head["grpc-status"], "12")
        method = await client.answer(client.ask("/test.Service/Other", b"{}", content_type="application/json"))
        self.assertEqual(method.head[":status"], "404")
        mounted = await client.answer(client.ask("/api/items", b"{}", content_type="application/json"))
        self.assertEqual(mounted.head[":status"], "201")

    async def test_bodies_stream_both_ways(self) -> None:
        _, address = await self.serve(asgi=back)
        client = await self.http2(address)
        answer = client.ask("/", b"one", end=False, method="PUT", **WEB)
        await client.until(lambda: answer.body == b"one")
        await client.send(answer, b"two")
        await client.answer(answer)
        self.assertEqual(answer.body, b"onetwo")
        head = b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        reader, writer = await self.http1(address, head + b"3\r\none\r\n")
        async with asyncio.timeout(PATIENCE):
            self.assertIn(b"chunked", await reader.readuntil(b"\r\n\r\n"))
            self.assertEqual(await reader.readexactly(8), b"3\r\none\r\n")
            writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
            self.assertEqual(await reader.readuntil(b"0\r\n\r\n"), b"3\r\ntwo\r\n0\r\n\r\n")

    async def test_large_bodies_go_both_ways(self) -> None:
        _, address = await self.serve(asgi=back)
        body = bytes(range(256)) * 12_000
        client = await self.http2(address)
        answer = client.ask("/", b"", end=False, **WEB)
        await client.send(answer, body)
        await client.answer(answer)
        self.assertTrue(answer.body == body)
        reader, writer = await self.http1(address, b"")
        writer.write(post(body, "/"))
        _, _, got = await answer_of(reader)
        self.assertTrue(got == body)

    async def test_what_nobody_takes_is_bounded(self) -> None:
        gate = asyncio.Event()

        async def takes_nothing(scope: Any, receive: Any, send: Any) -> None:
            await gate.wait()
            await told(scope, receive, send)

        server, address = await self.serve(asgi=web(takes_nothing))
        head = post(b"", "/").replace(b"Length: 0", b"Length: 9000000")
        _, writer = await self.http1(address, head)
        writer.write(bytes(8_000_000))
        await eventually(lambda: any(end.connection._paused for end in server._connections))  # type: ignore[attr-defined]
        self.assertLess(server.gauges().held_bytes, 2 << 20)
        client = await self.http2(address)
        await client.settle()
        answer = client.ask("/", b"", end=False, **WEB)
        await client.send(answer, bytes(256 << 10), end=False)
        await client.settle()
        self.assertEqual(client.h2.local_flow_control_window(client.number(answer)), 0)
        gate.set()

    async def test_it_waits_for_a_client_that_reads_nothing(self) -> None:
        sent = 0

        async def pours(scope: Any, receive: Any, send: Any) -> None:
            nonlocal sent
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
                sent += 1

        server, address = await self.serve(asgi=web(pours))
        client = await self.http2(address)
        client.credits = False
        answer = client.ask("/", None, **WEB)
        await client.until(lambda: len(answer.body) >= 60_000)
        for _ in range(50):
            await asyncio.sleep(0)
        self.assertLess(sent, 8)
        client.writer.close()  # which ends it: sending raises OSError
        await eventually(lambda: server.running == 0)

    async def test_it_is_told_that_the_client_is_gone(self) -> None:
        heard: list[Any] = []

        async def listens(scope: Any, receive: Any, send: Any) -> None:
            heard.append(await receive())
            heard.append(await receive())
            try:
                await send({"type": "http.response.start", "status": 200, "headers": []})
            except OSError as error:
                heard.append(type(error))

        server, address = await self.serve(asgi=web(listens))
        for client in (True, False):
            heard.clear()
            if client:
                other = await self.http2(address)
                answer = other.ask("/", None, **WEB)
                await eventually(lambda: bool(heard))
                other.h2.reset_stream(other.number(answer), ErrorCodes.CANCEL)
                other.flush()
            else:
                _, writer = await self.http1(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                await eventually(lambda: bool(heard))
                writer.close()
            await eventually(lambda: len(heard) == 3)
            self.assertEqual(heard[1:], [{"type": "http.disconnect"}, ConnectionResetError])
        await eventually(lambda: server.running == 0)

    async def test_failures_are_500_and_logged(self) -> None:
        async def fails(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/raises":
                raise ValueError("secret")
            fields = {
                "/field": [(b"a", b"b\r\nc: d")],
                "/name": [(b"a b", b"c")],
                "/length": [(b"content-length", b"-1")],
                "/lengths": [(b"content-length", b"1"), (b"Content-Length", b"2")],
            }
            if scope["path"] in fields:
                await send({"type": "http.response.start", "status": 200, "headers": fields[scope["path"]]})
                await send({"type": "http.response.body", "body": b"x"})

        _, address = await self.serve(asgi=fails)
        for path, said in (
            ("/raises", "failed at GET /raises"),
            ("/nothing", "not answered GET"),
            ("/field", "failed"),
            ("/name", "failed"),
            ("/length", "failed"),
            ("/lengths", "failed"),
        ):
            with self.assertLogs("trunkcall", logging.ERROR) as logs:
                for status, body in await self.both(address, path):
                    self.assertEqual(status, 500)
                    self.assertNotIn(b"secret", body)
            self.assertEqual(len(logs.records), 2)
            self.assertIn(said, logs.output[0])

    async def test_an_answer_that_was_broken_off_is_not_taken_for_whole(self) -> None:
        async def breaks(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
            if scope["path"] == "/raises":
                raise ValueError

        _, address = await self.serve(asgi=breaks)
        logging.getLogger("trunkcall").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("trunkcall").setLevel, logging.NOTSET)
        for path in ("/raises", "/ends"):
            client = await self.http2(address)
            answer = await client.answer(client.ask(path, None, **WEB))
            self.assertEqual(answer.reset, ErrorCodes.INTERNAL_ERROR)
            reader, _ = await self.http1(address, f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            data = b""
            with self.assertRaises((ConnectionError, asyncio.IncompleteReadError)):
                async with asyncio.timeout(PATIENCE):
                    while piece := await reader.read(1_000):
                        data += piece
                    raise asyncio.IncompleteReadError(data, None)
            self.assertFalse(data.endswith(b"0\r\n\r\n"))

    async def test_an_answer_has_the_length_that_it_says(self) -> None:
        async def lies(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
            await send({"type": "http.response.body", "body": scope["path"].encode()})

        _, address = await self.serve(asgi=lies)
        self.assertEqual(await self.both(address, "/abc"), [(200, b"/abc")] * 2)
        with self.assertLogs("trunkcall", logging.ERROR):
            self.assertEqual([status for status, _ in await self.both(address, "/abcd")], [500] * 2)
            self.assertEqual([status for status, _ in await self.both(address, "/")], [500] * 2)

    async def test_answers_without_a_body_have_none(self) -> None:
        async def bare(scope: Any, receive: Any, send: Any) -> None:
            status = int(scope["path"][1:])
            headers = [(b"content-length", b"5")] if status == 304 else []
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"12345"})

        _, address = await self.serve(asgi=bare)
        for request in (b"HEAD /200", b"GET /204", b"GET /304"):
            reader, writer = await self.http1(address, request + b" HTTP/1.1\r\nHost: h\r\n\r\n")
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                self.assertIn(request.split(b"/")[1], head)
                self.assertEqual(b"content-length: 5" in head, b"204" not in request)
                writer.write(b"GET /200 HTTP/1.1\r\nHost: h\r\n\r\n")  # nothing stands between
                self.assertEqual((await answer_of(reader))[2], b"12345")

    async def test_fields_have_the_bytes_that_it_gives_them(self) -> None:
        async def answers(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"name", b"\xe4")]})
            await send({"type": "http.response.body", "body": dict(scope["headers"])[b"name"]})

        _, address = await self.serve(asgi=web(answers))
        request = b"GET / HTTP/1.1\r\nHost: h\r\nName: \xe4\r\n\r\n"
        _, fields, body = await self.exchanged(address, request)
        self.assertEqual((fields["name"], body), ("\xe4", b"\xe4"))
        client = await self.http2(address)
        answer = client.ask("/", None, name=b"\xe4", **WEB)
        await client.answer(answer)
        self.assertEqual((answer.head["name"], answer.body), ("\xe4", b"\xe4"))

    async def test_a_body_that_it_waits_for_has_a_minute(self) -> None:
        server, address = await self.serve(asgi=told)
        reader, _ = await self.http1(address, post(b"12345", "/")[:-4])
        await eventually(lambda: server.running == 1)
        seconds_later(line(server), 59)
        self.assertEqual(server.running, 1)
        seconds_later(line(server), 61)
        status, fields, _ = await answer_of(reader)
        self.assertEqual((status, fields["connection"]), (429, "close"))
        await eventually(lambda: server.running == 0)

    async def test_one_that_it_does_not_wait_for_has_time(self) -> None:
        gate = asyncio.Event()

        async def busy(scope: Any, receive: Any, send: Any) -> None:
            await gate.wait()
            await told(scope, receive, send)

        server, address = await self.serve(asgi=web(busy))
        reader, writer = await self.http1(address, post(b"12345", "/")[:-5])
        await eventually(lambda: server.running == 1)
        seconds_later(line(server), 61)
        gate.set()
        writer.write(b"12345")
        self.assertEqual((await answer_of(reader))[0], 201)

    async def test_what_it_does_not_take_is_held_against_the_memory(self) -> None:
        gate = asyncio.Event()

        async def takes_nothing(scope: Any, receive: Any, send: Any) -> None:
            await gate.wait()

        server, address = await self.serve(asgi=web(takes_nothing), memory=1 << 20)
        client = await self.http2(address)
        answers = [client.ask("/", b"", end=False, **WEB) for _ in range(8)]
        for answer in answers:
            await client.send(answer, bytes(200_000), end=False)
        await client.until(lambda: answers[0].ended)
        self.assertEqual(answers[0].head[":status"], "429")
        self.assertLessEqual(server.gauges().held_bytes, (1 << 20) + (64 << 10))
        client.writer.close()
        gate.set()
        await eventually(lambda: server.running == 0 and server.gauges().held_bytes == 0)

    async def test_what_it_leaves_of_a_body_is_held_no_longer_than_its_answer_takes(self) -> None:
        async def answers(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(0)
            await send({"type": "http.response.start", "status": int(scope["path"][1:]), "headers": []})
            await send({"type": "http.response.body", "body": b"" if scope["path"] == "/201" else b"some"})

        server, address = await self.serve(asgi=web(answers))
        client = await self.http2(address)
        for path in ("/200", "/201", "/204"):
            for status, _ in await self.both(address, path, bytes(10_000)):
                self.assertEqual(status, int(path[1:]))
            # A body that goes on: the connection stays, and so does the request.
            answer = client.ask(path, bytes(10_000), end=False, **WEB)
            await client.until(lambda answer=answer: answer.ended)  # type: ignore[misc]
            self.assertEqual(server.gauges().held_bytes, 0)

    async def test_web_sockets_of_its_own_are_refused(self) -> None:
        _, address = await self.serve(asgi=told)
        head = (
            b"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        )
        status, _, body = await self.exchanged(address, head + b"Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n\r\n")
        self.assertEqual(status, 400)
        self.assertIn(b"trunk", body)


class Life(Mounting):
    def application(self, *says: dict[str, Any]) -> tuple[Any, list[str]]:
        heard: list[str] = []

        async def lives(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "lifespan":
                heard.append(f"request {scope['state']['pool']}")
                await told(scope, receive, send)
                return
            scope["state"]["pool"] = "of connections"
            for answer in says:
                heard.append((await receive())["type"])
                await send(answer)

        return lives, heard

    async def test_it_starts_before_the_first_request_and_ends_behind_the_last(self) -> None:
        lives, heard = self.application({"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"})
        server, address = await self.serve(asgi=lives)
        self.assertEqual(heard, ["lifespan.startup"])
        await server.listen("127.0.0.1:0")
        await self.exchanged(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await server.stop()
        self.assertEqual(heard, ["lifespan.startup", "request of connections", "lifespan.shutdown"])

    async def test_one_that_cannot_start_is_not_served(self) -> None:
        lives, _ = self.application({"type": "lifespan.startup.failed", "message": "no database"})
        server = Server(asgi=lives)
        self.addAsyncCleanup(server.close)
        with self.assertRaisesRegex(RuntimeError, "could not be started: no database"):
            await server.listen("127.0.0.1:0")
        self.assertEqual(server.addresses, [])

    async def test_the_server_waits_for_what_runs_and_cuts_off_what_runs_on(self) -> None:
        begun, gate = asyncio.Event(), asyncio.Event()

        async def waits(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            await gate.wait()
            await told(scope, receive, send)

        for grace, opened in ((PATIENCE, True), (0.0, False)):
            begun.clear()
            gate.clear()
            server, address = await self.serve(asgi=web(waits))
            reader, _ = await self.http1(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            await asyncio.wait_for(begun.wait(), PATIENCE)
            stopping = asyncio.create_task(server.stop(grace))
            await asyncio.sleep(0)
            if opened:
                gate.set()
            self.assertEqual((await answer_of(reader))[0], 201 if opened else 503)
            self.assertEqual(await stopping, opened)

    async def test_what_it_does_behind_an_answer_is_waited_for(self) -> None:
        done = asyncio.Event()
        gate = asyncio.Event()

        async def goes_on(scope: Any, receive: Any, send: Any) -> None:
            await told(scope, receive, send)
            await gate.wait()
            done.set()

        server, address = await self.serve(asgi=web(goes_on))
        await self.exchanged(address, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await eventually(lambda: not server._connections)
        stopping = asyncio.create_task(server.stop(PATIENCE))
        for _ in range(50):
            await asyncio.sleep(0)
        self.assertFalse(stopping.done())
        gate.set()
        self.assertTrue(await stopping)
        self.assertTrue(done.is_set())

    async def test_it_is_cancelled_in_the_end(self) -> None:
        cancelled = asyncio.Event()

        async def goes_on(scope: Any, receive: Any, send: Any) -> None:
            await told(scope, receive, send)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        server, address = await self.serve(asgi=web(goes_on))
        await self.exchanged(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        self.assertFalse(await server.stop(0.0))
        self.assertTrue(cancelled.is_set())

    async def test_a_handler_too_many_is_503(self) -> None:
        gate = asyncio.Event()

        async def waits(scope: Any, receive: Any, send: Any) -> None:
            await gate.wait()
            await told(scope, receive, send)

        server, address = await self.serve(asgi=web(waits), running_handlers=1)
        reader, _ = await self.http1(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await eventually(lambda: server.running == 1)
        self.assertEqual([status for status, _ in await self.both(address, "/")], [503, 503])
        gate.set()
        self.assertEqual((await answer_of(reader))[0], 201)

    async def test_there_is_one_place_and_it_wants_http(self) -> None:
        for options in ({"asgi": told, "wsgi": told}, {"asgi": told, "native_only": True}):
            with self.assertRaisesRegex(ValueError, "asgi"):
                Server(**options)
        with self.assertRaisesRegex(TypeError, "wsgi"):
            Server(wsgi=3)  # type: ignore[arg-type]


class Frameworks(Mounting):
    def fast(self) -> Any:
        app = fastapi.FastAPI()

        @app.post("/items/{number}")
        async def item(number: int, given: dict[str, int]) -> dict[str, int]:
            return {"sum": number + given["more"]}

        @app.get("/stream")
        async def stream() -> StreamingResponse:
            async def pieces() -> AsyncIterator[str]:
                for number in range(3):
                    yield f"{number},"

            return StreamingResponse(pieces())

        @app.put("/length")
        async def length(request: fastapi.Request) -> int:
            return sum([len(piece) async for piece in request.stream()])

        return app

    def flask(self) -> Any:
        app = flask.Flask("test")

        @app.post("/items/<int:number>")
        def item(number: int) -> dict[str, int]:
            return {"sum": number + int(flask.request.get_json()["more"])}

        @app.get("/stream")
        def stream() -> Any:
            def pieces() -> Iterator[str]:
                for number in range(3):
                    yield f"{number},"

            return flask.Response(pieces())

        @app.put("/length")
        def length() -> str:
            return str(len(flask.request.get_data()))

        @app.get("/fails")
        def fails() -> str:
            raise ValueError("secret")

        return app

    async def test_fastapi(self) -> None:
        await self.speaks(asgi=self.fast())

    async def test_flask(self) -> None:
        await self.speaks(wsgi=self.flask())

    async def speaks(self, **application: Any) -> None:
        server, address = await self.serve(ECHO.handler(echo), **application)
        for status, body in await self.both(address, "/items/3", b'{"more":4}', content_type="application/json"):
            self.assertEqual((status, body.replace(b" ", b"").strip()), (200, b'{"sum":7}'))
        self.assertEqual(await self.both(address, "/stream"), [(200, b"0,1,2,")] * 2)
        self.assertEqual([status for status, _ in await self.both(address, "/nowhere")], [404, 404])
        client = await self.http2(address)
        answer = client.ask("/length", b"", end=False, method="PUT", **WEB)
        await client.send(answer, bytes(1 << 20))
        await client.answer(answer)
        self.assertEqual(answer.body, b"1048576")
        self.assertEqual(await self.client(address).call(ECHO, b"native"), b"native")
        await eventually(lambda: server.running == 0)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    async def test_curl_speaks_with_both(self) -> None:
        for application in ({"asgi": self.fast()}, {"wsgi": self.flask()}):
            _, address = await self.serve(**application)
            for version in ("--http1.1", "--http2-prior-knowledge"):
                curl = await asyncio.create_subprocess_exec(
                    "curl",
                    *("--silent", "--fail", version, "--request", "PUT", "--data-binary", "@-"),
                    *("--header", "Expect: 100-continue", f"http://{address}/length"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                )
                out, _ = await asyncio.wait_for(curl.communicate(bytes(3_000_000)), PATIENCE)
                self.assertEqual((curl.returncode, out), (0, b"3000000"))


class Wsgi(Mounting):
    async def test_failures_are_500_and_logged(self) -> None:
        def fails(environ: Any, start_response: Any) -> Any:
            if environ["PATH_INFO"] == "/raises":
                raise ValueError("secret")
            if environ["PATH_INFO"] == "/exits":
                sys.exit(3)
            return next(iter(())) if environ["PATH_INFO"] == "/stops" else [b"without a start"]

        _, address = await self.serve(wsgi=fails)
        for path in ("/raises", "/exits", "/stops", "/other"):
            with self.assertLogs("trunkcall", logging.ERROR):
                self.assertEqual([status for status, _ in await self.both(address, path)], [500, 500])

    async def test_its_environ_is_as_wsgi_has_it(self) -> None:
        def told(environ: Any, start_response: Any) -> Any:
            names = ("PATH_INFO", "QUERY_STRING", "CONTENT_TYPE", "HTTP_A_B", "SERVER_PROTOCOL", "wsgi.url_scheme")
            body = environ["wsgi.input"].read()
            write = start_response("200 OK", [("X-Kind", "told")])
            write(body)
            return [repr([environ.get(name) for name in names]).encode()]

        _, address = await self.serve(wsgi=told)
        for version, (status, body) in zip(
            "12", await self.both(address, "/%C3%A4?q", b"!", **{"a-b": "1"}), strict=True
        ):
            protocol = "HTTP/1.1" if version == "1" else "HTTP/2"
            expected = ["/\xc3\xa4", "q", "text/plain", "1", protocol, "http"]
            self.assertEqual((status, body), (200, b"!" + repr(expected).encode()))

    async def test_what_it_answers_is_closed_though_the_client_is_gone(self) -> None:
        closed = asyncio.Event()
        loop = asyncio.get_running_loop()

        class Endless:
            def __iter__(self) -> Iterator[bytes]:
                while True:
                    yield bytes(65_536)

            def close(self) -> None:
                loop.call_soon_threadsafe(closed.set)

        def pours(environ: Any, start_response: Any) -> Any:
            start_response("200 OK", [])
            return Endless()

        server, address = await self.serve(wsgi=pours)
        reader, writer = await self.http1(address, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.wait_for(reader.readexactly(100_000), PATIENCE)
        writer.close()
        await asyncio.wait_for(closed.wait(), PATIENCE)
        await eventually(lambda: server.running == 0)
