package main

func Example() {
	main()
	// Output:
	// DEADLINE_EXCEEDED
	// two services on: context deadline exceeded
	// CANCELLED
	// two services on: context canceled
}
