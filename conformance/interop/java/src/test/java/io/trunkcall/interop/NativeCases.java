package io.trunkcall.interop;

import io.grpc.ForwardingChannelBuilder2;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.trunkcall.Client;
import io.trunkcall.ClientBuilder;
import java.util.ArrayList;
import java.util.List;
import org.junit.After;

/** The cases over Trunkcall clients, whose protocol is the native one. */
public abstract class NativeCases extends Cases {
  private final List<Client> clients = new ArrayList<>();

  /** A builder of a client for the server's port. */
  protected abstract ClientBuilder connect(int port) throws Exception;

  @Override
  protected ManagedChannelBuilder<?> channelTo(int port) {
    return new Builder(port);
  }

  @After
  @Override
  public void tearDown() {
    clients.forEach(Client::close);
    super.tearDown();
  }

  /** The options of a channel are those of a client here. */
  private final class Builder extends ForwardingChannelBuilder2<Builder> {
    private final int port;

    Builder(int port) {
      this.port = port;
    }

    @Override
    protected ManagedChannelBuilder<?> delegate() {
      return InProcessChannelBuilder.forName("nowhere");
    }

    @Override
    public ManagedChannel build() {
      try {
        Client client = connect(port).build();
        clients.add(client);
        return new Managed(client);
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
