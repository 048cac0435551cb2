// Package interop has tests alone: gRPC's own interoperability cases, carried out between
// grpc-go's test service, registered with a Trunkcall server, and clients of both kinds.
package interop
