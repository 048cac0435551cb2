package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestTheMetricsOfAStream(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	main()
	os.Stdout = stdout
	_ = write.Close()
	out, _ := io.ReadAll(read)
	for _, side := range []string{"client", "server"} {
		for _, want := range []string{
			`rpc_open_calls{method="/trunkcall.example.v1.UserService/ListUsers",side="` + side + `"} 0`,
			`rpc_seconds_count{code="NOT_FOUND",method="/trunkcall.example.v1.UserService/ListUsers",side="` + side + `"} 1`,
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
	}
}
