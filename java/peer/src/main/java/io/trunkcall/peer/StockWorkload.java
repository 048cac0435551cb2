package io.trunkcall.peer;

import com.trunkcall.bench.v1.BenchServiceGrpc;
import io.grpc.stub.StreamObserver;
import io.trunkcall.Caller;
import io.trunkcall.grpc.GrpcChannel;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import org.jspecify.annotations.Nullable;

/** The same through the stubs that the stock plugin generates. */
final class StockWorkload extends Workload {
  StockWorkload(String method, int size) {
    super(method, size);
  }

  @Override
  Call blocking(Caller client) {
    var stub = BenchServiceGrpc.newBlockingStub(GrpcChannel.of(client));
    return switch (method) {
      case "Say" -> () -> BenchMessages.check(stub.say(message));
      case "Echo" -> () -> BenchMessages.check(stub.echo(payload), payload);
      default -> async(client).waiting();
    };
  }

  @Override
  AsyncCall async(Caller client) {
    var stub = BenchServiceGrpc.newStub(GrpcChannel.of(client));
    return switch (method) {
      case "Say" -> ended -> stub.say(message, new Answer<>(BenchMessages::check, ended));
      case "Echo" ->
          ended ->
              stub.echo(
                  payload, new Answer<>(answer -> BenchMessages.check(answer, payload), ended));
      case "Emit" -> StockStream.emit(stub, payload);
      default -> StockStream.echo(stub, payload);
    };
  }

  /** Takes the answer of one call and checks it. */
  private static final class Answer<R> implements StreamObserver<R> {
    private final Check<R> check;
    private final AsyncCall.Ended ended;
    private @Nullable Throwable wrong;

    Answer(Check<R> check, AsyncCall.Ended ended) {
      this.check = check;
      this.ended = ended;
    }

    @Override
    public void onNext(R answer) {
      try {
        check.check(answer);
      } catch (Exception e) {
        wrong = e;
      }
    }

    @Override
    public void onError(Throwable failure) {
      ended.ended(failure);
    }

    @Override
    public void onCompleted() {
      ended.ended(wrong);
    }
  }
}
