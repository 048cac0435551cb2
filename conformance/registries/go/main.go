// Peer-go-registries is peer-go with etcd, ZooKeeper and Consul as registries.
package main

import (
	_ "github.com/trunkcall/trunkcall/go/consul"
	_ "github.com/trunkcall/trunkcall/go/etcd"
	"github.com/trunkcall/trunkcall/go/peer"
	_ "github.com/trunkcall/trunkcall/go/zookeeper"
)

func main() { peer.Main() }
