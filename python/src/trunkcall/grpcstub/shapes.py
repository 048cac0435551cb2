"""Classes of grpcio that have parameters to checkers of types alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

if TYPE_CHECKING:
    Future = grpc.Future[Any]
    UnaryUnary = grpc.UnaryUnaryMultiCallable[Any, Any]
    UnaryStream = grpc.UnaryStreamMultiCallable[Any, Any]
    StreamUnary = grpc.StreamUnaryMultiCallable[Any, Any]
    StreamStream = grpc.StreamStreamMultiCallable[Any, Any]
else:
    Future = grpc.Future
    UnaryUnary = grpc.UnaryUnaryMultiCallable
    UnaryStream = grpc.UnaryStreamMultiCallable
    StreamUnary = grpc.StreamUnaryMultiCallable
    StreamStream = grpc.StreamStreamMultiCallable
