package peer

import (
	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	faultv1 "github.com/trunkcall/trunkcall/go/gen/fault/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// registerStock serves both services through the code that the stock gRPC
// plugin generates.
func registerStock(server *trunkcall.Server) {
	registrar := grpcstub.Registrar(server)
	examplev1.RegisterUserServiceServer(registrar, services.User{})
	benchv1.RegisterBenchServiceServer(registrar, services.Bench{})
}

// registerFault serves the service that misbehaves, on the stock stubs whatever
// the codec: nobody measures it. With a client its calls of Behave go onward.
func registerFault(server *trunkcall.Server, client *trunkcall.Client) {
	var service faultv1.FaultServiceServer = services.Fault{Running: server.Running}
	if client != nil {
		service = onward{services.Fault{Running: server.Running}, client}
	}
	faultv1.RegisterFaultServiceServer(grpcstub.Registrar(server), service)
}

// stockClient calls the benchmark service through that code.
func stockClient(client *trunkcall.Client) benchv1.BenchServiceClient {
	return benchv1.NewBenchServiceClient(grpcstub.Conn(client))
}
