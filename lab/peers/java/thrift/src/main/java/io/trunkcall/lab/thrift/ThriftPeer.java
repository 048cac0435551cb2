package io.trunkcall.lab.thrift;

import io.trunkcall.lab.program.BenchMessages;
import io.trunkcall.lab.program.Peer;
import io.trunkcall.lab.program.Program;
import io.trunkcall.lab.thrift.generated.BenchService;
import io.trunkcall.lab.thrift.generated.BenchmarkMessage;
import io.trunkcall.load.Address;
import io.trunkcall.load.Call;
import io.trunkcall.load.Calls;
import io.trunkcall.load.Failed;
import io.trunkcall.load.Flags;
import io.trunkcall.load.Options;
import io.trunkcall.load.Work;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportException;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * Java-thrift is Apache Thrift with its own codecs. A connection carries one call at a time, so
 * callers that share one wait for each other; the server has a thread for each.
 */
public final class ThriftPeer implements Peer {
  private static final String FRAMED = "framed";
  private static final String COMPACT = "thrift-compact";

  private Flags.Value<String> transport;
  private Flags.Value<String> codec;

  public static void main(String[] words) {
    Program.main(ThriftPeer::new, words);
  }

  @Override
  public String name() {
    return "java-thrift";
  }

  @Override
  public List<String> methods() {
    return List.of("Say");
  }

  @Override
  public void serveFlags(Flags flags) {
    transport = flags.choice("--transport", List.of(FRAMED, "buffered"), "the same on both sides");
    codec = flags.choice("--codec", List.of("thrift-binary", COMPACT), "the same on both sides");
  }

  @Override
  public void benchFlags(Flags flags) {
    serveFlags(flags);
  }

  private TProtocolFactory protocols() {
    return codec.get().equals(COMPACT)
        ? new TCompactProtocol.Factory()
        : new TBinaryProtocol.Factory();
  }

  /** Buffered is what a socket of Thrift's is by itself. */
  private TTransportFactory transports() {
    return transport.get().equals(FRAMED)
        ? new TFramedTransport.Factory()
        : new TTransportFactory();
  }

  @Override
  public int serve(Address listen, Work work) throws Exception {
    ServerSocket socket = new ServerSocket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(InetAddress.getByName(listen.host()), listen.port()), 1024);
    TThreadPoolServer server =
        new TThreadPoolServer(
            new TThreadPoolServer.Args(new TServerSocket(socket))
                .processor(new BenchService.Processor<>(handler(work)))
                .transportFactory(transports())
                .protocolFactory(protocols()));
    new Thread(server::serve, "accepting").start();
    return socket.getLocalPort();
  }

  private static BenchService.Iface handler(Work work) {
    return message -> {
      message.setField1(BenchMessages.answerText());
      message.setField2(work.answer());
      return message;
    };
  }

  @Override
  public Calls bench(Options options) throws Exception {
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < options.connections(); i++) {
      connections.add(new Connection(options.target()));
    }
    List<Call> calls = new ArrayList<>();
    for (Connection connection : options.spread(connections)) {
      BenchmarkMessage request = ThriftMessage.request();
      calls.add(() -> connection.say(request));
    }
    return Calls.blocking(calls, connections);
  }

  /** A client, and the lock under which its one call at a time is made. */
  private final class Connection implements AutoCloseable {
    private final ReentrantLock lock = new ReentrantLock();
    private final TTransport socket;
    private final BenchService.Client client;

    Connection(Address target) throws TException, Failed {
      TSocket plain = new TSocket(target.host(), target.port());
      socket = transports().getTransport(plain);
      client = new BenchService.Client(protocols().getProtocol(socket));
      try {
        if (!socket.isOpen()) {
          socket.open();
        }
      } catch (TTransportException e) {
        throw new Failed("no connection to " + target + ": " + e.getMessage(), e);
      }
    }

    void say(BenchmarkMessage request) throws Exception {
      BenchmarkMessage answer;
      lock.lock();
      try {
        answer = client.Say(request);
      } finally {
        lock.unlock();
      }
      BenchMessages.check(answer.getField1(), answer.getField2());
    }

    @Override
    public void close() {
      socket.close();
    }
  }
}
