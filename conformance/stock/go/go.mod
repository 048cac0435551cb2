// The client of grpc-go among the stock clients: a module of its own, so that nothing here
// becomes a requirement of those who use the framework.
module github.com/trunkcall/trunkcall/conformance/stock/go

go 1.26.0

require (
	github.com/trunkcall/trunkcall/go v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/planetscale/vtprotobuf v0.6.1-0.20250313105119-ba97887b0a25 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)

replace github.com/trunkcall/trunkcall/go => ../../../go
