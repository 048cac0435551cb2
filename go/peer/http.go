package peer

import (
	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// registerForGRPC serves what clients of gRPC expect to find beside the services
// that they came for, by gRPC's own code: health and reflection. Both know of what
// is registered later.
func registerForGRPC(server *trunkcall.Server) *health.Server {
	registrar := grpcstub.Registrar(server)
	state := health.NewServer()
	healthgrpc.RegisterHealthServer(registrar, state)
	reflection.Register(registrar)
	return state
}
