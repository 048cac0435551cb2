package peer

import (
	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The methods served, each described once for both ends.
var (
	getUser     = trunkcall.Unary[examplev1.GetUserRequest, examplev1.GetUserResponse](examplev1.UserService_GetUser_FullMethodName)
	listUsers   = trunkcall.ServerStream[examplev1.ListUsersRequest, examplev1.GetUserResponse](examplev1.UserService_ListUsers_FullMethodName)
	importUsers = trunkcall.ClientStream[examplev1.GetUserResponse, examplev1.ImportUsersResponse](examplev1.UserService_ImportUsers_FullMethodName)
	watchUsers  = trunkcall.Bidi[examplev1.GetUserRequest, examplev1.GetUserResponse](examplev1.UserService_WatchUsers_FullMethodName)

	say        = trunkcall.Unary[benchv1.BenchmarkMessage, benchv1.BenchmarkMessage](benchv1.BenchService_Say_FullMethodName)
	echo       = trunkcall.Unary[benchv1.Payload, benchv1.Payload](benchv1.BenchService_Echo_FullMethodName)
	echoStream = trunkcall.Bidi[benchv1.Payload, services.KeptPayload](benchv1.BenchService_EchoStream_FullMethodName)
	emit       = trunkcall.ServerStream[benchv1.EmitRequest, services.KeptPayload](benchv1.BenchService_Emit_FullMethodName)
	// The same with messages that are bytes, for the codec Raw.
	echoBytes       = trunkcall.Unary[[]byte, []byte](benchv1.BenchService_Echo_FullMethodName)
	echoStreamBytes = trunkcall.Bidi[[]byte, []byte](benchv1.BenchService_EchoStream_FullMethodName)

	getDictionary = trunkcall.Unary[emptypb.Empty, benchv1.Dictionary](benchv1.BenchService_GetDictionary_FullMethodName)
	getUserModel  = trunkcall.Unary[benchv1.UserModel, benchv1.UserModel](benchv1.BenchService_GetUser_FullMethodName)
	getUserModels = trunkcall.Unary[benchv1.UserModels, benchv1.UserModels](benchv1.BenchService_GetUsers_FullMethodName)
)
