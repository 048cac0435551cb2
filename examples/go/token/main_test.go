package main

func Example() {
	main()
	// Output:
	// hello, Ada <nil>
	//  UNAUTHENTICATED: /greeter/greet wants a token (refused)
}
