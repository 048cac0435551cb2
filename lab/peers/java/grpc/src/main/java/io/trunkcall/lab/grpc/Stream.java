package io.trunkcall.lab.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import io.grpc.Channel;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.program.WrongAnswer;
import io.trunkcall.load.Options;
import io.trunkcall.load.Receipts;

/** A stream whose calls are receipts of messages. The first message is checked. */
final class Stream {
  private Stream() {}

  /** Opens it; of EchoStream it sends without pause, as flow control lets it. */
  static Stream open(Channel channel, Options options) {
    Payload payload = BenchMessages.payload(options.size());
    Stream stream = new Stream();
    var stub = BenchServiceGrpc.newStub(channel);
    if (options.method().equals("Emit")) {
      Arrivals<EmitRequest> arrivals = stream.new Arrivals<>(payload.getData(), null);
      stub.emit(EmitRequest.newBuilder().setSize(options.size()).build(), arrivals);
    } else {
      stub.echoStream(stream.new Arrivals<>(payload.getData(), payload));
    }
    return stream;
  }

  private ClientCallStreamObserver<?> call;
  private final Receipts receipts = new Receipts(() -> call.request(1));

  Receipts receipts() {
    return receipts;
  }

  /** Sends what there is to send, again and again, and tells of what comes. */
  private final class Arrivals<Q extends MessageLite>
      implements ClientResponseObserver<Q, Payload> {
    private final ByteString want;
    private final Q sent;
    private boolean checked;

    /**
     * @param sent null if nothing is to be sent
     */
    Arrivals(ByteString want, Q sent) {
      this.want = want;
      this.sent = sent;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> started) {
      call = started;
      started.disableAutoRequestWithInitial(Receipts.AHEAD);
      if (sent != null) {
        started.setOnReadyHandler(
            () -> {
              while (started.isReady()) {
                started.onNext(sent);
              }
            });
      }
    }

    @Override
    public void onNext(Payload answer) {
      if (!checked) {
        checked = true;
        try {
          BenchMessages.checkData(answer.getData(), want);
        } catch (WrongAnswer e) {
          receipts.failed(e);
          return;
        }
      }
      receipts.arrived();
    }

    @Override
    public void onError(Throwable failure) {
      receipts.failed(failure);
    }

    @Override
    public void onCompleted() {
      receipts.failed(new IllegalStateException("the server has ended the stream"));
    }
  }
}
