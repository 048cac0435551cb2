"""What both gRPC peers, blocking and asyncio, set the same."""

from __future__ import annotations

from program import MAX_MESSAGE

CONNECT_TIMEOUT = 10.0  # seconds

SERVER = [
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.so_reuseport", 0),
]
CHANNEL = [
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    # Otherwise all channels to one address share a connection.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
]
