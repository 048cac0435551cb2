// The registry ZooKeeper, a module of its own: the framework's users inherit nothing of it.
module github.com/trunkcall/trunkcall/go/zookeeper

go 1.26.0

replace github.com/trunkcall/trunkcall/go => ..

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/trunkcall/trunkcall/go v0.0.0-00010101000000-000000000000
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/planetscale/vtprotobuf v0.6.1-0.20250313105119-ba97887b0a25 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
