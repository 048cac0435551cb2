// Certificate DIRECTORY puts a certificate for measurements over TLS there, and
// its key: certificate.pem and key.pem. Clients are to trust the certificate
// itself.
package main

import (
	"fmt"
	"os"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/selfsigned"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certificate DIRECTORY")
		os.Exit(2)
	}
	if err := selfsigned.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "certificate:", err)
		os.Exit(1)
	}
}
