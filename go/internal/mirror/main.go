// Command mirror shows what travels beside the messages of calls. As a server
// it gives request metadata back, in the header and in the trailer, and does
// what the entry `do` says; as a client it prints all that came back. The tests
// in conformance/ hold both ends against their counterparts in Python.
//
//	mirror serve        prints its address, then a line for each handler that waits and for each end of one
//	mirror call TARGET  carries out the plan on standard input, prints the outcome
package main

import (
	"encoding/base64"
	"fmt"
	"os"

	"github.com/trunkcall/trunkcall/go"
)

const service = "/trunkcall.example.v1.UserService/"

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		err = serve()
	case len(os.Args) == 3 && os.Args[1] == "call":
		err = call(os.Args[2])
	default:
		err = fmt.Errorf("usage: mirror serve | mirror call TARGET")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
}

// pairs is metadata in JSON: keys, and values in base64.
type pairs [][2]string

func toPairs(m trunkcall.Metadata) pairs {
	list := pairs{}
	for _, p := range m {
		list = append(list, [2]string{p.Key, base64.StdEncoding.EncodeToString([]byte(p.Value))})
	}
	return list
}

func (p pairs) metadata() (m trunkcall.Metadata, err error) {
	for _, pair := range p {
		value, err := base64.StdEncoding.DecodeString(pair[1])
		if err != nil {
			return nil, err
		}
		m = append(m, trunkcall.Metadata{{Key: pair[0], Value: string(value)}}...)
	}
	return m, nil
}
