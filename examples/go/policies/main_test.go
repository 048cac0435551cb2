package main

import "os"

func Example() {
	os.Args = []string{"policies", "policy.yaml"}
	main()
	// Output: Ada after 3 attempts
}
