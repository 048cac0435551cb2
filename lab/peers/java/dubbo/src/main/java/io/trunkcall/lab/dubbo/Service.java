package io.trunkcall.lab.dubbo;

import com.trunkcall.bench.v1.BenchmarkMessage;
import com.trunkcall.bench.v1.DubboBenchServiceTriple;
import com.trunkcall.bench.v1.Payload;
import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.load.Work;

/** Say and Echo on Dubbo's stubs. */
final class Service extends DubboBenchServiceTriple.BenchServiceImplBase {
  private final Work work;

  Service(Work work) {
    this.work = work;
  }

  @Override
  public BenchmarkMessage say(BenchmarkMessage request) {
    return BenchMessages.answer(request, work);
  }

  @Override
  public Payload echo(Payload request) {
    return request;
  }
}
