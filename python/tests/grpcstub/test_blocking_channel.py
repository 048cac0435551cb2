"""The channel of blocking stubs: its states, interceptors of both kinds, policies, event loops, fork and Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
import threading
import unittest
from typing import Any, cast

import grpc

from example.v1 import user_pb2 as pb
from example.v1 import user_pb2_grpc as stubs
from tests.blocking.kit import run_program
from tests.grpcstub.blockingkit import PATIENCE, Noting, StubCase
from tests.grpcstub.kit import ID, USER, Users
from trunkcall import Call, Client, Endpoint, Policy, first
from trunkcall.grpcstub.blocking import CallError, Channel
from trunkcall.grpcstub.callbacks import Callbacks
from trunkcall.grpcstub.subscribing import Subscription

State = grpc.ChannelConnectivity


class States(StubCase):
    def test_a_channel_that_becomes_ready(self) -> None:
        with self.channel(Users()) as channel:
            ready = grpc.channel_ready_future(channel)
            ready.result(timeout=PATIENCE)
            self.assertTrue(ready.done())
        self.assertEqual([one.state.name for one in self.native.endpoints], ["READY"])

    def test_a_server_that_is_not_there_is_waited_for(self) -> None:
        channel = self.channel(Users(), where=self.unix())
        self.there.run(self.server.close())
        ready = grpc.channel_ready_future(channel)
        with self.assertRaises(grpc.FutureTimeoutError):
            ready.result(timeout=0.05)
        self.serve_users(Users(), where=self.address)
        ready.result(timeout=PATIENCE)
        given_up = grpc.channel_ready_future(channel)
        given_up.cancel()

    def test_every_change_is_told(self) -> None:
        channel = self.channel(Users())
        noting = Noting()
        channel.subscribe(noting)
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given, [State.IDLE])
        stubs.UserServiceStub(channel).GetUser(ID(user_id=1))
        self.until(noting, State.READY)
        self.there.run(self.server.close())
        self.until(noting, State.TRANSIENT_FAILURE)
        self.native.close()
        self.until(noting, State.SHUTDOWN)
        late = Noting()
        channel.subscribe(late)
        self.until(late, State.SHUTDOWN)

    def test_a_state_is_told_once(self) -> None:
        callbacks, noting = Callbacks(), Noting()
        one = Subscription(noting)
        for state in (State.IDLE, State.IDLE, State.READY, State.READY):
            one.tell(state, callbacks)
        self.until(noting, State.READY)
        callbacks.call(noting)
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given, [State.IDLE, State.READY, None])

    def test_one_that_connects(self) -> None:
        go_on = threading.Event()

        def dial(address: str, endpoint: Endpoint) -> socket.socket:
            go_on.wait(PATIENCE)
            host, _, port = address.rpartition(":")
            return socket.create_connection((host, int(port)))

        channel = self.channel(Users(), dialer=dial)
        noting = Noting()
        channel.subscribe(noting, try_to_connect=True)
        self.until(noting, State.CONNECTING)
        go_on.set()
        self.until(noting, State.READY)

    def test_nothing_is_looked_for_while_one_waits(self) -> None:
        channel = self.channel(Users())
        self.there.run(self.server.close())
        noting = Noting()
        channel.subscribe(noting, try_to_connect=True)
        self.until(noting, State.TRANSIENT_FAILURE)
        driver, policy = cast("tuple[Any, Any]", self.native._now())
        with driver.inside():
            self.assertEqual(driver._started, 0)  # with any, the client's own thread looks each millisecond
            self.assertEqual(len(policy._watchers), 1)
        self.serve_users(Users(), where=self.address)
        self.until(noting, State.READY)
        channel.unsubscribe(noting)
        with driver.inside():
            driver.loop.settle()
            self.assertEqual(policy._watchers, [])

    def test_one_that_connects_by_a_lazy_balancer(self) -> None:
        channel = self.channel(Users(), balancer=first())
        noting = Noting()
        channel.subscribe(noting, try_to_connect=True)
        self.until(noting, State.READY)

    def until(self, noting: Noting, state: grpc.ChannelConnectivity) -> None:
        while noting.given[-1:] != [state]:
            self.assertTrue(noting.wait(), noting.given)

    def test_one_that_is_not_subscribed_any_more_is_told_nothing(self) -> None:
        channel = self.channel(Users())
        kept, dropped, nobody = Noting(), Noting(), Noting()
        for one in (dropped, kept):
            channel.subscribe(one)
            self.assertTrue(one.wait())
        channel.unsubscribe(dropped)
        channel.unsubscribe(nobody)
        stubs.UserServiceStub(channel).GetUser(ID(user_id=1))
        self.until(kept, State.READY)
        self.assertEqual(dropped.given, [State.IDLE])
        channel.close()
        self.assertEqual(channel._subscriptions._all, [])

    def test_a_function_that_is_told_makes_calls(self) -> None:
        channel = self.channel(Users())
        stub: Any = stubs.UserServiceStub(channel)
        noting = Noting(lambda state: stub.GetUser(ID(user_id=7)).name)
        channel.subscribe(noting, try_to_connect=True)
        self.assertTrue(noting.wait())
        self.assertEqual(noting.given[0], "7")

    def test_one_connection(self) -> None:
        channel = self.channel(Users())
        self.native.connect()
        (connection,) = self.native.connections
        one = Channel(connection)
        noting = Noting()
        one.subscribe(noting)
        self.until(noting, State.READY)
        stub: Any = stubs.UserServiceStub(one)
        self.assertEqual(stub.GetUser(ID(user_id=7)).name, "7")
        self.assertEqual(stub.GetUser.future(ID(user_id=7)).result().name, "7")
        connection.disconnect()
        self.until(noting, State.SHUTDOWN)
        with self.assertRaises(CallError):
            stub.GetUser(ID(user_id=7))
        channel.close()

    def test_what_is_no_blocking_caller(self) -> None:
        with self.assertRaisesRegex(TypeError, "grpcstub.aio.Channel takes this one"):
            Channel(Client("127.0.0.1:1"))  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "trunkcall.blocking.Client"):
            Channel("127.0.0.1:1")  # type: ignore[arg-type]


class Adding(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds metadata to all calls, and notes how they end."""

    def __init__(self) -> None:
        self.ended = Noting(lambda call: call.code())

    def _go_on(self, continuation: Any, details: Any, request: Any) -> Any:
        changed = details._replace(metadata=[*(details.metadata or ()), ("name", "added-")])
        call = continuation(changed, request)
        call.add_done_callback(self.ended)
        return call

    intercept_unary_unary: Any = _go_on
    intercept_unary_stream: Any = _go_on
    intercept_stream_unary: Any = _go_on
    intercept_stream_stream: Any = _go_on


class Interceptors(StubCase):
    def test_those_of_grpc(self) -> None:
        adding = Adding()
        channel = grpc.intercept_channel(self.channel(Users()), adding)
        stub: Any = stubs.UserServiceStub(channel)
        self.assertEqual(stub.GetUser(ID(user_id=7)).name, "added-7")
        self.assertEqual(stub.GetUser.with_call(ID(user_id=7))[1].initial_metadata(), (("first", "1"),))
        self.assertEqual(stub.GetUser.future(ID(user_id=7)).result().name, "added-7")
        self.assertEqual(len(list(stub.ListUsers(pb.ListUsersRequest(count=1)))), 1)
        self.assertEqual(stub.ImportUsers(iter([USER()])).count, 1)
        self.assertEqual(stub.ImportUsers.future(iter([USER()])).result().count, 1)
        self.assertEqual(len(list(stub.WatchUsers(iter([ID()])))), 1)
        self.rejects(lambda: stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)
        for _ in range(8):
            self.assertTrue(adding.ended.wait())
        self.assertEqual(adding.ended.given.count(grpc.StatusCode.OK), 7)
        grpc.channel_ready_future(channel).result(timeout=PATIENCE)

    def test_those_of_trunkcall(self) -> None:
        seen: list[Any] = []
        lock = threading.Lock()

        def add(call: Call, proceed: Any) -> Any:
            with lock:
                seen.append(call.timeout)
            call.metadata.append(("name", "added-"))
            return proceed(call)

        stub = self.stub(Users(), interceptors=[add], timeout=PATIENCE)
        self.assertEqual(stub.GetUser(ID(user_id=7)).name, "added-7")
        self.assertEqual(stub.GetUser.with_call(ID(user_id=7))[0].name, "added-7")
        self.assertEqual(stub.GetUser.future(ID(user_id=7)).result().name, "added-7")
        self.assertEqual(len(list(stub.ListUsers(pb.ListUsersRequest(count=1)))), 1)
        self.assertEqual(stub.ImportUsers(iter([USER()])).count, 1)
        self.assertEqual(len(list(stub.WatchUsers(iter([ID()])))), 1)
        self.rejects(lambda: stub.GetUser(ID()), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(seen, [None] * 7)  # the client's own timeout is not for stubs

    def test_one_of_trunkcall_that_wraps_the_messages(self) -> None:
        seen: list[tuple[str, Any]] = []

        class Wrapped:
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            def send(self, message: Any) -> bool:
                seen.append(("sent", message.user_id))
                return bool(self._inner.send(message))

            def receive(self) -> Any:
                message = self._inner.receive()
                seen.append(("received", None if message is None else message.name))
                return message

        stub = self.stub(Users(), interceptors=[lambda call, proceed: Wrapped(proceed(call))])
        call = stub.WatchUsers(ID(user_id=n) for n in range(20))
        noting = Noting()
        call.add_done_callback(noting)
        self.assertEqual([user.name for user in call], [str(n) for n in range(20)])
        self.assertIs(call.code(), grpc.StatusCode.OK)
        self.assertTrue(noting.wait())
        self.assertEqual([message for what, message in seen if what == "sent"], list(range(20)))
        self.assertEqual([message for what, message in seen if what == "received"], [*map(str, range(20)), None])

    def test_policies_hold_for_stubs_that_ask_for_them(self) -> None:
        seen: list[Any] = []

        def note(call: Call, proceed: Any) -> Any:
            seen.append(call.timeout)
            return proceed(call)

        policies = [Policy("/trunkcall.example.v1.UserService/ListUsers", timeout=40)]
        stub = self.stub(Users(), ask_policies=True, timeout=30, policies=policies, interceptors=[note])
        stub.GetUser(ID(user_id=1))
        list(stub.ListUsers(pb.ListUsersRequest()))
        stub.GetUser(ID(user_id=1), timeout=20)
        self.assertEqual(seen, [30, 40, 20])


class Relaying(stubs.UserServiceServicer):
    """Plain methods that ask another server, on the threads that run them."""

    def __init__(self, stub: Any) -> None:
        self._stub = stub

    def GetUser(self, request: Any, context: Any) -> Any:
        answer, call = self._stub.GetUser.with_call(request)
        left = dict(call.trailing_metadata())["remaining"]
        return pb.GetUserResponse(name=answer.name, email=f"a deadline there: {left}")


class Handlers(StubCase):
    def test_a_plain_servicer_calls_on_with_the_deadline_of_its_own_call(self) -> None:
        stub = self.stub(Relaying(self.stub(Users())))
        told = [stub.GetUser(ID(user_id=7), timeout=timeout).email for timeout in (PATIENCE, None)]
        self.assertEqual(told, ["a deadline there: True", "a deadline there: False"])


class EventLoops(StubCase):
    def test_calls_are_refused_with_advice(self) -> None:
        channel = self.channel(Users())
        stub: Any = stubs.UserServiceStub(channel)

        async def within() -> None:
            for work in (
                lambda: stub.GetUser(ID(user_id=1)),
                lambda: stub.GetUser.future(ID(user_id=1)),
                lambda: stub.ListUsers(pb.ListUsersRequest()),
                lambda: stub.ImportUsers(iter([USER()])),
                lambda: channel.subscribe(print),
            ):
                with self.assertRaisesRegex(RuntimeError, r"trunkcall\.grpcstub\.aio.*asyncio\.to_thread"):
                    work()
            self.assertEqual((await asyncio.to_thread(stub.GetUser, ID(user_id=7))).name, "7")

        asyncio.run(within())


BEGIN = """
import os, signal, sys, threading
import grpc
from example.v1 import user_pb2 as pb, user_pb2_grpc as stubs
from tests.blocking.kit import Elsewhere, Working
from tests.grpcstub.kit import ID, USER, Users
from trunkcall import Server
from trunkcall.blocking import Client
from trunkcall.grpcstub import aio
from trunkcall.grpcstub.blocking import Channel

there, users = Elsewhere(), Users()

async def begin():
    server = Server()
    stubs.add_UserServiceServicer_to_server(users, aio.Server(server))
    return server, await server.listen("127.0.0.1:0")

server, address = there.run(begin())
client = Client(address)
channel = Channel(client)
stub = stubs.UserServiceStub(channel)
"""
END = """
client.close()
there.run(server.close())
there.close()
print("done")
"""


class Processes(unittest.TestCase):
    def runs(self, program: str) -> None:
        ran = run_program(BEGIN + program + END, "-W", "ignore:This process:DeprecationWarning")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stderr)
        self.assertIn("done", ran.stdout)

    def test_a_channel_works_in_the_child_of_a_fork_and_in_the_parent(self) -> None:
        self.runs(
            """
called = threading.Semaphore(0)
channel.subscribe(lambda state: called.release())
assert called.acquire(timeout=30)  # the thread of callbacks runs
asked = threading.Event()
def requests():
    yield ID(user_id=1)
    asked.wait()
future, watch = stub.GetUser.future(ID(user_id=-3)), stub.WatchUsers(requests())
assert next(watch).name == "1"

def child():
    assert stub.GetUser(ID(user_id=7)).name == "7"
    one = stub.GetUser.future(ID(user_id=7))
    one.add_done_callback(lambda call: called.release())
    assert one.result().name == "7" and called.acquire(timeout=30)
    assert stub.ImportUsers(iter([USER()] * 3)).count == 3
    grpc.channel_ready_future(channel).result(timeout=30)
    for work in (future.result, future.code, watch.__next__, lambda: watch.code().name):
        try:
            assert work() in ("UNAVAILABLE", grpc.StatusCode.UNAVAILABLE), work
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.UNAVAILABLE and "before fork()" in error.details(), error
    future.cancel(), watch.cancel()
    channel.close()

number = os.fork()
if not number:
    code = 1
    try:
        child()
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)
assert os.waitpid(number, 0)[1] == 0, "the child has failed"
assert stub.GetUser(ID(user_id=7)).name == "7"
assert future.running() and future.cancel()
asked.set()
assert list(watch) == [] and watch.code() is grpc.StatusCode.OK
"""
        )

    def test_ctrl_c_ends_the_call_of_the_main_thread(self) -> None:
        self.runs(
            """
def interrupt():
    there.run(users.begun.wait())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    stub.GetUser(ID(user_id=-3))
    raise AssertionError("not interrupted")
except KeyboardInterrupt:
    pass
there.run(users.cancelled.wait())  # the server was told
assert stub.GetUser(ID(user_id=7)).name == "7"
"""
        )

    def test_a_process_ends_whatever_is_open(self) -> None:
        self.runs(
            """
def requests():
    yield ID(user_id=1)
    threading.Event().wait()
future, watch = stub.GetUser.future(ID(user_id=-3)), stub.WatchUsers(requests())
assert next(watch).name == "1"
watch.add_done_callback(print)
channel.subscribe(lambda state: None)
"""
        )


if __name__ == "__main__":
    unittest.main()
