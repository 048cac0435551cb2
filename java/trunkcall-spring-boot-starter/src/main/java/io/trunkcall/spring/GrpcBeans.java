package io.trunkcall.spring;

import io.grpc.BindableService;
import io.trunkcall.Handler;
import io.trunkcall.grpc.GrpcServices;
import java.util.List;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Beans that grpc-java's plugin has generated the bases of. Loaded only where trunkcall-grpc is.
 */
final class GrpcBeans {
  private GrpcBeans() {}

  static List<Handler> handlers(ListableBeanFactory beans) {
    return List.of(
        GrpcServices.handlers(
            beans
                .getBeanProvider(BindableService.class)
                .orderedStream()
                .toArray(BindableService[]::new)));
  }
}
