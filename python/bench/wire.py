"""Two sessions back to back, no sockets: microseconds of CPU per unary call for each side of the wire layer.

PYTHONPATH=src python3 bench/wire.py [calls per batch] [--profile]
"""

from __future__ import annotations

import cProfile
import sys
import time

from trunkcall.wire import Config, Events, IncomingCall, Method, OutgoingCall, Session

NAME = b"/bench.v1.Bench/Echo"
MESSAGE = bytes(581)
ROUNDS = 500


class Server(Events):
    def start(self, call: IncomingCall) -> None:
        call.finish(call.message)


class Client(Events):
    def __init__(self) -> None:
        self.ended_calls = 0

    def ended(self, call: OutgoingCall) -> None:
        self.ended_calls += 1


def batches(client: Session, server: Session, size: int, rounds: int) -> tuple[float, float]:
    """Seconds spent in the client and in the server."""
    mine = theirs = 0.0
    clock = time.perf_counter
    now = 0
    for _ in range(rounds):
        now += 100
        begun = clock()
        client.now = now
        for _ in range(size):
            client.unary(NAME, MESSAGE)
        data = bytes(client.take())
        client.wrote(len(data))
        sent = clock()
        server.receive(data, now)
        server.dispatch(server.now)
        answer = bytes(server.take())
        server.wrote(len(answer))
        answered = clock()
        client.receive(answer, now)
        mine += sent - begun + clock() - answered
        theirs += answered - sent
    return mine, theirs


def main() -> None:
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    size = int(numbers[0]) if numbers else 100
    events = Client()
    client = Session(events, initiator=True, now=0, config=Config(keepalive=0))
    server = Session(
        Server(), initiator=False, now=0, config=Config(keepalive=0), methods={NAME: Method(NAME, takes_one=True)}
    )
    batches(client, server, size, 20)
    if "--profile" in sys.argv:
        with cProfile.Profile() as profile:
            batches(client, server, size, ROUNDS // 10)
        profile.print_stats("tottime")
        return
    for _ in range(5):
        mine, theirs = batches(client, server, size, ROUNDS)
        per_call = 1e6 / (ROUNDS * size)
        print(f"{size} calls a batch: client {mine * per_call:.2f} us, server {theirs * per_call:.2f} us per call")
    assert events.ended_calls == 20 * size + 5 * ROUNDS * size


if __name__ == "__main__":
    main()
