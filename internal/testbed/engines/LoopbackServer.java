import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.nio.SelectChannelConnector;

/**
 * DynamoDB Local, in memory, on a free port of the loopback address, which it prints. Its own main class can be told
 * neither: it listens on every interface, on a port that the caller must find. It ends when its standard input does.
 */
class LoopbackServer {
    public static void main(String[] args) throws Exception {
        SelectChannelConnector connector = new SelectChannelConnector();
        connector.setHost("127.0.0.1");
        connector.setPort(0);

        boolean inMemory = true, sharedDb = true, delayTransientStatuses = false;
        Server server = new Server();
        server.addConnector(connector);
        server.setHandler(new LocalDynamoDBServerHandler(
            new LocalDynamoDBRequestHandler(0, inMemory, null, sharedDb, delayTransientStatuses), null));
        server.start();
        System.out.println("listening on 127.0.0.1:" + connector.getLocalPort());

        while (System.in.read() >= 0) {
            // Nothing is expected: the end is what counts.
        }
        System.exit(0);
    }
}
