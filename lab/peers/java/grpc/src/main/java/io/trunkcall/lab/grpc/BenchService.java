package io.trunkcall.lab.grpc;

import com.google.protobuf.Empty;
import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Dictionary;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import com.trunkcall.bench.v1.UserModel;
import com.trunkcall.bench.v1.UserModels;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.load.Work;

/** The benchmark service on the stock stubs. */
final class BenchService extends BenchServiceGrpc.BenchServiceImplBase {
  private static final Dictionary DICTIONARY =
      Dictionary.newBuilder()
          .putEntries("a", "1")
          .putEntries("b", "2")
          .putEntries("c", "3")
          .build();

  private final Work work;

  BenchService(Work work) {
    this.work = work;
  }

  @Override
  public void say(BenchmarkMessage request, StreamObserver<BenchmarkMessage> answer) {
    answer(BenchMessages.answer(request, work), answer);
  }

  @Override
  public void echo(Payload request, StreamObserver<Payload> answer) {
    answer(request, answer);
  }

  /** Takes the next message only when there is room for its answer. */
  @Override
  public StreamObserver<Payload> echoStream(StreamObserver<Payload> answers) {
    ServerCallStreamObserver<Payload> call = (ServerCallStreamObserver<Payload>) answers;
    call.disableAutoRequest();
    Echo echo = new Echo(call);
    call.setOnReadyHandler(echo::ready);
    call.setOnCancelHandler(() -> {});
    call.request(1);
    return echo;
  }

  private static final class Echo implements StreamObserver<Payload> {
    private final ServerCallStreamObserver<Payload> call;
    private boolean full;

    Echo(ServerCallStreamObserver<Payload> call) {
      this.call = call;
    }

    @Override
    public void onNext(Payload message) {
      call.onNext(message);
      if (call.isReady()) {
        call.request(1);
      } else {
        full = true;
      }
    }

    void ready() {
      if (full) {
        full = false;
        call.request(1);
      }
    }

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onCompleted() {
      call.onCompleted();
    }
  }

  @Override
  public void emit(EmitRequest request, StreamObserver<Payload> answers) {
    int size = request.getSize();
    if (size < 0 || size > BenchMessages.MAX_EMIT) {
      String text = "size is " + Integer.toUnsignedString(size) + ": want at most ";
      answers.onError(
          Status.INVALID_ARGUMENT
              .withDescription(text + BenchMessages.MAX_EMIT)
              .asRuntimeException());
      return;
    }
    Payload payload = BenchMessages.payload(size);
    ServerCallStreamObserver<Payload> call = (ServerCallStreamObserver<Payload>) answers;
    call.setOnCancelHandler(() -> {});
    call.setOnReadyHandler(
        () -> {
          while (call.isReady() && !call.isCancelled()) {
            call.onNext(payload);
          }
        });
  }

  @Override
  public void getDictionary(Empty request, StreamObserver<Dictionary> answer) {
    answer(DICTIONARY, answer);
  }

  @Override
  public void getUser(UserModel request, StreamObserver<UserModel> answer) {
    answer(request, answer);
  }

  @Override
  public void getUsers(UserModels request, StreamObserver<UserModels> answer) {
    answer(request, answer);
  }

  private static <T> void answer(T message, StreamObserver<T> to) {
    to.onNext(message);
    to.onCompleted();
  }
}
