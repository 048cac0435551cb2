package io.trunkcall.peer;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Status;
import io.trunkcall.StatusException;
import java.util.Iterator;
import java.util.function.Function;
import java.util.function.Supplier;

/** How services on the stock stubs answer and fail. What makes their answers is Trunkcall's. */
final class StockAnswers {
  private StockAnswers() {}

  /** Answers with one message. */
  static <R> void one(StreamObserver<R> to, Supplier<R> answer) {
    R made;
    try {
      made = answer.get();
    } catch (StatusException e) {
      to.onError(failure(e));
      return;
    }
    to.onNext(made);
    to.onCompleted();
  }

  /** Answers with all messages of a source, as flow control lets it. */
  static <R> void all(StreamObserver<R> to, Supplier<Iterator<R>> source) {
    Iterator<R> answers;
    try {
      answers = source.get();
    } catch (StatusException e) {
      to.onError(failure(e));
      return;
    }
    ServerCallStreamObserver<R> call = (ServerCallStreamObserver<R>) to;
    call.setOnCancelHandler(() -> {}); // else what is sent then is an error
    call.setOnReadyHandler(
        () -> {
          try {
            while (call.isReady()) {
              if (!answers.hasNext()) {
                call.onCompleted();
                return;
              }
              call.onNext(answers.next());
            }
          } catch (StatusException e) {
            call.onError(failure(e));
          }
        });
  }

  /** Answers each request; the next one is taken when there is room for its answer. */
  static <Q, R> StreamObserver<Q> each(StreamObserver<R> to, Function<Q, R> answer) {
    ServerCallStreamObserver<R> call = (ServerCallStreamObserver<R>) to;
    Each<Q, R> each = new Each<>(call, answer);
    call.disableAutoRequest();
    call.setOnCancelHandler(() -> {}); // else what is sent then is an error
    call.setOnReadyHandler(each::ready);
    call.request(1);
    return each;
  }

  private static final class Each<Q, R> implements StreamObserver<Q> {
    private final ServerCallStreamObserver<R> call;
    private final Function<Q, R> answer;
    private boolean answered; // the request that was asked for last
    private boolean failed;

    Each(ServerCallStreamObserver<R> call, Function<Q, R> answer) {
      this.call = call;
      this.answer = answer;
    }

    @Override
    public void onNext(Q request) {
      try {
        call.onNext(answer.apply(request));
      } catch (StatusException e) {
        failed = true;
        call.onError(failure(e));
        return;
      }
      answered = true;
      ready();
    }

    void ready() {
      if (answered && call.isReady()) {
        answered = false;
        call.request(1);
      }
    }

    @Override
    public void onError(Throwable gone) {
      // the caller is gone, and there is nobody to answer
    }

    @Override
    public void onCompleted() {
      if (!failed) {
        call.onCompleted();
      }
    }
  }

  private static StatusRuntimeException failure(StatusException failed) {
    Status status = failed.status();
    com.google.rpc.Status.Builder told =
        com.google.rpc.Status.newBuilder()
            .setCode(status.code().number())
            .setMessage(status.message());
    for (Status.Detail detail : status.details()) {
      told.addDetails(
          Any.newBuilder()
              .setTypeUrl(detail.typeUrl())
              .setValue(ByteString.copyFrom(detail.value())));
    }
    return StatusProto.toStatusRuntimeException(told.build());
  }
}
