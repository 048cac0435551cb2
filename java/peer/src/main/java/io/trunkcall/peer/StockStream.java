package io.trunkcall.peer;

import com.trunkcall.bench.v1.BenchServiceGrpc.BenchServiceStub;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.trunkcall.load.AsyncCall;
import io.trunkcall.load.Receipts;
import org.jspecify.annotations.Nullable;

/** A stream of the stock stub whose calls are receipts of messages. The first one is checked. */
final class StockStream<Q> implements ClientResponseObserver<Q, Payload> {
  private final Payload wanted;
  private final @Nullable Q sent; // without pause
  private final Receipts receipts = new Receipts(this::askForOne);
  private volatile @Nullable ClientCallStreamObserver<Q> call;
  private boolean checked;

  private StockStream(Payload wanted, @Nullable Q sent) {
    this.wanted = wanted;
    this.sent = sent;
  }

  static AsyncCall emit(BenchServiceStub stub, Payload wanted) {
    StockStream<EmitRequest> stream = new StockStream<>(wanted, null);
    stub.emit(EmitRequest.newBuilder().setSize(wanted.getData().size()).build(), stream);
    return stream.receipts;
  }

  static AsyncCall echo(BenchServiceStub stub, Payload sent) {
    StockStream<Payload> stream = new StockStream<>(sent, sent);
    stub.echoStream(stream);
    return stream.receipts;
  }

  private void askForOne() {
    ClientCallStreamObserver<Q> begun = call;
    if (begun != null) {
      begun.request(1);
    }
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<Q> started) {
    call = started;
    started.disableAutoRequestWithInitial(Receipts.AHEAD);
    Q again = sent;
    if (again != null) {
      started.setOnReadyHandler(
          () -> {
            while (started.isReady()) {
              started.onNext(again);
            }
          });
    }
  }

  @Override
  public void onNext(Payload answer) {
    if (!checked) {
      checked = true;
      try {
        BenchMessages.check(answer, wanted);
      } catch (WrongAnswerException e) {
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
    receipts.failed(new WrongAnswerException("the server ended the stream"));
  }
}
