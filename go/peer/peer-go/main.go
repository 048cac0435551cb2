// Peer-go is the reference program of the Go implementation.
package main

import "github.com/trunkcall/trunkcall/go/peer"

func main() { peer.Main() }
