package io.trunkcall.peer;

import com.google.protobuf.Empty;
import com.trunkcall.bench.v1.BenchServiceGrpc;
import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.Dictionary;
import com.trunkcall.bench.v1.EmitRequest;
import com.trunkcall.bench.v1.Payload;
import com.trunkcall.bench.v1.UserModel;
import com.trunkcall.bench.v1.UserModels;
import io.grpc.stub.StreamObserver;
import io.trunkcall.load.Work;
import java.util.stream.Stream;

/** BenchService on the stock stubs. */
final class StockBench extends BenchServiceGrpc.BenchServiceImplBase {
  private final Work work;

  StockBench(Work work) {
    this.work = work;
  }

  @Override
  public void say(BenchmarkMessage request, StreamObserver<BenchmarkMessage> answer) {
    StockAnswers.one(answer, () -> BenchMessages.answer(request, work));
  }

  @Override
  public void echo(Payload request, StreamObserver<Payload> answer) {
    StockAnswers.one(answer, () -> request);
  }

  @Override
  public StreamObserver<Payload> echoStream(StreamObserver<Payload> answers) {
    return StockAnswers.each(answers, request -> request);
  }

  @Override
  public void emit(EmitRequest request, StreamObserver<Payload> answers) {
    StockAnswers.all(
        answers,
        () -> {
          Payload payload = BenchMethods.emitted(request);
          return Stream.generate(() -> payload).iterator();
        });
  }

  @Override
  public void getDictionary(Empty request, StreamObserver<Dictionary> answer) {
    StockAnswers.one(answer, () -> BenchMethods.DICTIONARY);
  }

  @Override
  public void getUser(UserModel request, StreamObserver<UserModel> answer) {
    StockAnswers.one(answer, () -> request);
  }

  @Override
  public void getUsers(UserModels request, StreamObserver<UserModels> answer) {
    StockAnswers.one(answer, () -> request);
  }
}
