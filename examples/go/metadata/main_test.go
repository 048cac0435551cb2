package main

func Example() {
	main()
	// Output:
	// user-7 of north
	// user-8 of north server-1 3
	// user-1 of north server-1
}
