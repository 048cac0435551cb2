package trunkcall

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Methods that a .proto file of this process describes are registered as it describes
// them: a mistake in a name or a type would else be found by the first caller.

// messages are the names of a method's Protobuf messages; empty: it is none.
type messages struct{ request, response protoreflect.FullName }

func messagesOf[Req, Resp any]() messages { return messages{messageName[Req](), messageName[Resp]()} }

func messageName[T any]() protoreflect.FullName {
	m, ok := any(new(T)).(proto.Message)
	if !ok {
		return ""
	}
	described := m.ProtoReflect().Descriptor()
	if described == nil { // one whose type is known later only
		return ""
	}
	return described.FullName()
}

// checkDescribed tells of a handler of Protobuf messages that is otherwise than the
// .proto file says which describes its service. One of raw bytes may be a proxy.
func (h *Handler) checkDescribed() error {
	if h.messages == (messages{}) {
		return nil
	}
	name := h.Method.Name
	slash := strings.LastIndexByte(name, '/')
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name[1:slash]))
	described, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil
	}
	file := described.ParentFile().Path()
	m := described.Methods().ByName(protoreflect.Name(name[slash+1:]))
	if m == nil {
		return fmt.Errorf("service %s of %s has no method %s, only %s", described.FullName(), file, name[slash+1:], namesOf(described.Methods()))
	}
	if want := kindOf(m); h.Method.Kind != want && (h.Method.Kind != KindOneWay || want != KindUnary) {
		return fmt.Errorf("method %s is %v in %s, not %v", name, want, file, h.Method.Kind)
	}
	if got, want := h.messages.request, m.Input().FullName(); got != "" && got != want {
		return fmt.Errorf("method %s takes %s in %s, not %s", name, want, file, got)
	}
	if got, want := h.messages.response, m.Output().FullName(); got != "" && got != want {
		return fmt.Errorf("method %s returns %s in %s, not %s", name, want, file, got)
	}
	return nil
}

func kindOf(m protoreflect.MethodDescriptor) Kind {
	switch {
	case m.IsStreamingClient() && m.IsStreamingServer():
		return KindBidiStream
	case m.IsStreamingClient():
		return KindClientStream
	case m.IsStreamingServer():
		return KindServerStream
	}
	return KindUnary
}

func namesOf(all protoreflect.MethodDescriptors) string {
	names := make([]string, all.Len())
	for i := range names {
		names[i] = string(all.Get(i).Name())
	}
	return strings.Join(names, ", ")
}
