"""gRPC's interoperability cases with blocking stubs, by gRPC's names. What they do is told in its document
interop-test-descriptions; grpcio's own cases are in no package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import grpc

from conformance.interop.python.generated import pb
from conformance.interop.python.services import INITIAL, TRAILING, payload

PATIENCE = 60.0
ASKED, GIVEN = (31_415, 9, 2_653, 58_979), (27_182, 8, 1_828, 45_904)  # bytes of payloads
SPECIAL = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
SENT = ((INITIAL, "test_initial_metadata_value"), (TRAILING, b"\xab\xab\xab"))

Case = Callable[[Any, Any], None]


def large() -> Any:
    return pb.SimpleRequest(response_size=314_159, payload=payload(271_828))


def output(*sizes: int, given: int = 0, code: int = 0, message: str = "") -> Any:
    asked = [pb.ResponseParameters(size=size) for size in sizes]
    request = pb.StreamingOutputCallRequest(response_parameters=asked, payload=payload(given))
    if code:
        request.response_status.CopyFrom(pb.EchoStatus(code=code, message=message))
    return request


def inputs() -> list[Any]:
    return [pb.StreamingInputCallRequest(payload=payload(size)) for size in GIVEN]


def failing(message: str) -> Any:
    return pb.SimpleRequest(response_status=pb.EchoStatus(code=2, message=message))


def same(got: object, want: object) -> None:
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def size_of(response: Any) -> int:
    return len(response.payload.body)


class Requests:
    """An iterator of what is given to it until it is ended."""

    def __init__(self) -> None:
        self._given: SimpleQueue[Any] = SimpleQueue()

    def give(self, request: Any) -> None:
        self._given.put(request)

    def end(self) -> None:
        self._given.put(None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        request = self._given.get(timeout=2 * PATIENCE)
        if request is None:
            raise StopIteration
        return request


def fails(work: Callable[[], Any], code: grpc.StatusCode, message: str | None = None) -> None:
    try:
        work()
    except grpc.RpcError as error:
        failed: Any = error
        same(failed.code(), code)
        if message is not None:
            same(failed.details(), message)
    else:
        raise AssertionError(f"it did not fail with {code}")


def empty_unary(stub: Any, other: Any) -> None:
    same(stub.EmptyCall(pb.Empty(), timeout=PATIENCE), pb.Empty())


def large_unary(stub: Any, other: Any) -> None:
    same(stub.UnaryCall(large(), timeout=PATIENCE).payload, payload(314_159))


def client_streaming(stub: Any, other: Any) -> None:
    same(stub.StreamingInputCall(iter(inputs()), timeout=PATIENCE).aggregated_payload_size, sum(GIVEN))


def server_streaming(stub: Any, other: Any) -> None:
    same([size_of(one) for one in stub.StreamingOutputCall(output(*ASKED), timeout=PATIENCE)], [*ASKED])


def ping_pong(stub: Any, other: Any) -> None:
    requests = Requests()
    call = stub.FullDuplexCall(requests, timeout=PATIENCE)
    for asked, given in zip(ASKED, GIVEN, strict=True):
        requests.give(output(asked, given=given))
        same(size_of(next(call)), asked)
    requests.end()
    same(list(call), [])
    same(call.code(), grpc.StatusCode.OK)


def empty_stream(stub: Any, other: Any) -> None:
    same(list(stub.FullDuplexCall(iter(()), timeout=PATIENCE)), [])


def timeout_on_sleeping_server(stub: Any, other: Any) -> None:
    requests = Requests()
    call = stub.FullDuplexCall(requests, timeout=0.001)
    requests.give(output(given=27_182))
    fails(lambda: next(call), grpc.StatusCode.DEADLINE_EXCEEDED)
    requests.end()


def cancel_after_begin(stub: Any, other: Any) -> None:
    requests = Requests()
    call = stub.StreamingInputCall.future(requests)
    same(call.cancel(), True)
    same((call.cancelled(), call.code()), (True, grpc.StatusCode.CANCELLED))
    requests.end()


def cancel_after_first_response(stub: Any, other: Any) -> None:
    requests = Requests()
    call = stub.FullDuplexCall(requests, timeout=PATIENCE)
    requests.give(output(31_415, given=27_182))
    same(size_of(next(call)), 31_415)
    same(call.cancel(), True)
    fails(lambda: next(call), grpc.StatusCode.CANCELLED)
    requests.end()


def status_code_and_message(stub: Any, other: Any) -> None:
    message = "test status message"
    fails(lambda: stub.UnaryCall(failing(message), timeout=PATIENCE), grpc.StatusCode.UNKNOWN, message)
    requests = iter([output(code=2, message=message)])
    fails(lambda: list(stub.FullDuplexCall(requests, timeout=PATIENCE)), grpc.StatusCode.UNKNOWN, message)


def special_status_message(stub: Any, other: Any) -> None:
    fails(lambda: stub.UnaryCall(failing(SPECIAL), timeout=PATIENCE), grpc.StatusCode.UNKNOWN, SPECIAL)


def custom_metadata(stub: Any, other: Any) -> None:
    _, call = stub.UnaryCall.with_call(large(), metadata=SENT, timeout=PATIENCE)
    echoes(call)
    call = stub.FullDuplexCall(iter([output(314_159, given=271_828)]), metadata=SENT, timeout=PATIENCE)
    same([size_of(one) for one in call], [314_159])
    echoes(call)


def echoes(call: Any) -> None:
    same(dict(call.initial_metadata()).get(INITIAL), SENT[0][1])
    same(dict(call.trailing_metadata()).get(TRAILING), SENT[1][1])


def unimplemented_method(stub: Any, other: Any) -> None:
    fails(lambda: stub.UnimplementedCall(pb.Empty(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED)


def unimplemented_service(stub: Any, other: Any) -> None:
    fails(lambda: other.UnimplementedCall(pb.Empty(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED)


def rpc_soak(stub: Any, other: Any) -> None:
    for _ in range(10):
        large_unary(stub, other)


CASES: tuple[Case, ...] = (
    empty_unary,
    large_unary,
    client_streaming,
    server_streaming,
    ping_pong,
    empty_stream,
    timeout_on_sleeping_server,
    cancel_after_begin,
    cancel_after_first_response,
    status_code_and_message,
    special_status_message,
    custom_metadata,
    unimplemented_method,
    unimplemented_service,
    rpc_soak,
)
