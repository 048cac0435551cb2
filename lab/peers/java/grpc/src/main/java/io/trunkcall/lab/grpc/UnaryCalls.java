package io.trunkcall.lab.grpc;

import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Payload;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Call;
import io.trunkcall.load.Options;

/** Say and Echo, through the blocking and the asynchronous stub. */
final class UnaryCalls {
  private UnaryCalls() {}

  static Call blocking(Channel channel, Options options) {
    var stub = BenchServiceGrpc.newBlockingStub(channel);
    if (options.method().equals("Say")) {
      BenchmarkMessage request = BenchMessages.request();
      return () -> BenchMessages.check(stub.say(request));
    }
    Payload request = BenchMessages.payload(options.size());
    return () -> BenchMessages.checkData(stub.echo(request).getData(), request.getData());
  }

  static AsyncCall async(Channel channel, Options options) {
    var stub = BenchServiceGrpc.newStub(channel);
    if (options.method().equals("Say")) {
      BenchmarkMessage request = BenchMessages.request();
      return ended -> stub.say(request, new Answer<>(BenchMessages::check, ended));
    }
    Payload request = BenchMessages.payload(options.size());
    return ended ->
        stub.echo(
            request,
            new Answer<>(
                answer -> BenchMessages.checkData(answer.getData(), request.getData()), ended));
  }

  private interface Check<T> {
    void check(T answer) throws Exception;
  }

  /** Takes the answer of one call and checks it. */
  private static final class Answer<T> implements StreamObserver<T> {
    private final Check<T> check;
    private final AsyncCall.Ended ended;
    private Throwable wrong;

    Answer(Check<T> check, AsyncCall.Ended ended) {
      this.check = check;
      this.ended = ended;
    }

    @Override
    public void onNext(T answer) {
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
