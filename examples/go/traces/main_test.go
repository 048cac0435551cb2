package main

func Example() {
	main()
	// Unordered output:
	// client trunkcall.example.v1.UserService/ListUsers Error true
	// server trunkcall.example.v1.UserService/ListUsers Error true
}
