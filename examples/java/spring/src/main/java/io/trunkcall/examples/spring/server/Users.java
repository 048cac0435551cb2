package io.trunkcall.examples.spring.server;

import com.trunkcall.example.v1.GetUserRequest;
import com.trunkcall.example.v1.GetUserResponse;
import com.trunkcall.example.v1.UserServiceGrpc;
import io.grpc.stub.StreamObserver;
import org.springframework.stereotype.Component;

/** A service with a base that grpc-java's plugin has generated. */
@Component
public class Users extends UserServiceGrpc.UserServiceImplBase {
  @Override
  public void getUser(GetUserRequest request, StreamObserver<GetUserResponse> answer) {
    answer.onNext(GetUserResponse.newBuilder().setName("user-" + request.getUserId()).build());
    answer.onCompleted();
  }
}
