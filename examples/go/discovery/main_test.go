package main

import "os"

func Example() {
	folder, err := os.MkdirTemp("", "discovery")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	os.Args = []string{"discovery", "file:" + folder}
	main()
	// Output:
	// answered by first
	// answered by second
}
