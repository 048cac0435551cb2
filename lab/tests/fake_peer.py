"""A program with the shape of a peer and made-up numbers, for testing the runner.

`serve` answers every request it reads with 25 bytes; `bench` makes ping-pong calls of 30 bytes for its duration and
prints the figures that its flags ask for; `hold` keeps connections open. What goes wrong is asked for by flags too.
"""

import argparse
import json
import os
import random
import selectors
import signal
import socket
import sys
import time

REQUEST, RESPONSE = b"q" * 30, b"r" * 25


def serve(options):
    if options.dies:
        sys.exit("cannot serve today")
    if options.mute:
        time.sleep(60)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kept = []
    selector = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
    selector.register(listener, selectors.EVENT_READ)
    print(f"listening 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while True:
        ready = selector.select(0.1 if options.runs else None)
        if options.runs:
            print(f"runs {options.runs}", flush=True)
        for key, _ in ready:
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                kept.append(os.urandom(options.memory))
            elif key.fileobj.recv(65536):
                key.fileobj.sendall(RESPONSE)
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def bench(options):
    if options.exit:
        sys.exit("no route to the moon")
    host, _, port = options.target.split(",")[0].rpartition(":")
    connection = socket.create_connection((host, int(port)))
    end = time.monotonic() + float(options.duration.removesuffix("ms")) / 1000
    while time.monotonic() < end:
        connection.sendall(REQUEST)
        connection.recv(65536)
        time.sleep(0.002)
    rate = float(options.rate or options.fake_rate * random.uniform(0.99, 1.01))
    result = dict.fromkeys(["mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us"], options.latency)
    seconds = float(options.duration.removesuffix("ms")) / 1000
    result |= {"calls": int(rate * seconds), "errors": options.errors, "seconds": seconds, "rate": rate, "cpu_us": 5.0}
    result |= dict.fromkeys(["answered_p50_us", "answered_p99_us"], options.latency) | {"attempts": options.attempts}
    print("a word before the result")
    for _ in range(options.ejected):
        print("endpoint ejected", file=sys.stderr)
    print(json.dumps(result), flush=True)


def hold(options):
    host, _, port = options.target.rpartition(":")
    kept = [socket.create_connection((host, int(port))) for _ in range(options.connections)]
    signal.pause()
    del kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["serve", "bench", "hold", "version"])
    parser.add_argument("--target")
    parser.add_argument("--named", default="fake 1.0")
    parser.add_argument("--listen")
    parser.add_argument("--duration", default="100ms")
    parser.add_argument("--rate")
    parser.add_argument("--connections", type=int)
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--fake-rate", type=float, default=1000)
    parser.add_argument("--latency", type=float, default=100)
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--ejected", type=int, default=0)
    parser.add_argument("--attempts", type=float, default=1)
    for flag in ("dies", "mute", "stubborn", "exit"):
        parser.add_argument(f"--{flag}", action="store_true")
    options, _ = parser.parse_known_args()
    if "FAKE_PEER_PIDS" in os.environ:
        # So that a test can look whether everything that was started is gone.
        with open(os.path.join(os.environ["FAKE_PEER_PIDS"], f"{options.verb}-{os.getpid()}"), "x", encoding="ascii"):
            pass
    if options.verb == "version":
        print(options.named)
    else:
        {"serve": serve, "bench": bench, "hold": hold}[options.verb](options)


if __name__ == "__main__":
    main()
