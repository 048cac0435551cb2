package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// method is a method as its descriptor tells of it: all that a call needs when
// its types are known at run time only.
type method struct {
	trunkcall.Method
	request, response protoreflect.MessageType
}

// findMethod looks a method up among the services that are linked in.
func findMethod(name string) (*method, error) {
	service, short, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if !ok {
		return nil, unsendable(trunkcall.InvalidArgument, "method %q: want package.Service/Method", name)
	}
	descriptor := describe(service)
	if descriptor == nil {
		if !strings.Contains(service, ".") {
			return nil, unsendable(trunkcall.InvalidArgument,
				"method %q: if it is code-first, its arguments are a JSON array; no .proto file here has a service %s", name, service)
		}
		return nil, unsendable(trunkcall.Unimplemented, "method %q: there is no service %s here; call --help lists what there is", name, service)
	}
	described := descriptor.Methods().ByName(protoreflect.Name(short))
	if described == nil {
		return nil, unsendable(trunkcall.Unimplemented, "method %q: %s has %s only", name, service, methodNames(descriptor))
	}
	m := &method{Method: trunkcall.Method{Name: "/" + service + "/" + short, Kind: kindOf(described)}}
	var err error
	if m.request, err = protoregistry.GlobalTypes.FindMessageByName(described.Input().FullName()); err == nil {
		m.response, err = protoregistry.GlobalTypes.FindMessageByName(described.Output().FullName())
	}
	if err != nil {
		return nil, unsendable(trunkcall.Internal, "method %q: %v", name, err)
	}
	return m, nil
}

// unsendable is how a call fails that cannot even be made: its method or its
// messages are not known here.
func unsendable(code trunkcall.Code, format string, args ...any) error {
	return trunkcall.Status{Code: code, Message: fmt.Sprintf(format, args...), Delivery: trunkcall.NotSent, Local: true}.Err()
}

// describe returns what the .proto file says of a service, nil without one.
func describe(service string) protoreflect.ServiceDescriptor {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if descriptor, ok := found.(protoreflect.ServiceDescriptor); ok && err == nil {
		return descriptor
	}
	return nil
}

// isDescribed holds for names of .proto files, be they those of services or not.
func isDescribed(name string) bool {
	_, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	return err == nil
}

func methodNames(service protoreflect.ServiceDescriptor) string {
	methods := service.Methods()
	names := make([]string, methods.Len())
	for i := range names {
		names[i] = string(methods.Get(i).Name())
	}
	return strings.Join(names, ", ")
}

func kindOf(m protoreflect.MethodDescriptor) trunkcall.Kind {
	switch {
	case m.IsStreamingClient() && m.IsStreamingServer():
		return trunkcall.KindBidiStream
	case m.IsStreamingClient():
		return trunkcall.KindClientStream
	case m.IsStreamingServer():
		return trunkcall.KindServerStream
	default:
		return trunkcall.KindUnary
	}
}

func (m *method) manyRequests() bool {
	return m.Kind == trunkcall.KindClientStream || m.Kind == trunkcall.KindBidiStream
}

// parseRequests reads one message, or an array of them for a method that takes
// many.
func (m *method) parseRequests(text string) ([]proto.Message, error) {
	parts := []json.RawMessage{json.RawMessage(text)}
	if m.manyRequests() {
		if err := parseArray(text, &parts); err != nil {
			return nil, unsendable(trunkcall.InvalidArgument, "%s takes a JSON array of %s: %v", m.Name, m.request.Descriptor().FullName(), err)
		}
	}
	requests := make([]proto.Message, len(parts))
	for i, part := range parts {
		requests[i] = m.request.New().Interface()
		if err := fromJSON(part, requests[i]); err != nil && m.manyRequests() {
			return nil, unsendable(trunkcall.InvalidArgument, "message %d of %d: %v", i+1, len(parts), err)
		} else if err != nil {
			return nil, unsendable(trunkcall.InvalidArgument, "%v", err)
		}
	}
	return requests, nil
}

func parseArray(text string, parts *[]json.RawMessage) error {
	err := json.Unmarshal([]byte(text), parts)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	case err != nil || *parts == nil: // null is taken for a slice too
		return errors.New("this is none")
	}
	return nil
}

// invoke makes the call and hands each answer to take, whose error ends the call.
func (m *method) invoke(
	ctx context.Context, client *trunkcall.Client, requests []proto.Message, take func(proto.Message) error,
) error {
	if m.Kind == trunkcall.KindUnary {
		response := m.response.New().Interface()
		if err := client.Invoke(ctx, &m.Method, requests[0], response); err != nil {
			return err
		}
		return take(response)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.NewStream(ctx, &m.Method)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		err := sendAll(stream, requests)
		if err != nil {
			cancel() // the server waits for a message that cannot be sent
		}
		sent <- err
	}()
	receive := m.receiveAll
	if m.Kind == trunkcall.KindClientStream {
		receive = m.receiveOne
	}
	received := receive(stream, take)
	if received != nil {
		cancel()
	}
	if err := <-sent; err != nil {
		return err
	}
	return received
}

// sendAll sends the requests. That the call ended meanwhile is no error here:
// how it ended is received.
func sendAll(stream trunkcall.Stream, requests []proto.Message) error {
	for _, request := range requests {
		if err := stream.Send(request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

func (m *method) receiveAll(stream trunkcall.Stream, take func(proto.Message) error) error {
	for {
		response := m.response.New().Interface()
		if err := stream.Receive(response); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := take(response); err != nil {
			return err
		}
	}
}

// receiveOne hands the answer on when the call has succeeded with just that.
func (m *method) receiveOne(stream trunkcall.Stream, take func(proto.Message) error) error {
	var answers []proto.Message
	err := m.receiveAll(stream, func(answer proto.Message) error {
		answers = append(answers, answer)
		if len(answers) > 1 {
			return trunkcall.Errorf(trunkcall.Unimplemented, "the server answered with several messages where one is expected")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(answers) == 0:
		return trunkcall.Status{
			Code: trunkcall.Unimplemented, Message: "the server answered without a message", Delivery: trunkcall.Executed, Local: true,
		}.Err()
	}
	return take(answers[0])
}
