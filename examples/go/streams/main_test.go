package main

func Example() {
	main()
	// Output:
	// found user-3
	// imported 2
	// watched user-7
	// watched user-8
}
