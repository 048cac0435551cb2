package peer

import (
	"testing"
)

func TestCodeFirstMethodsAreCalledWithAnArray(t *testing.T) {
	for _, codec := range codecs {
		target := serve(t, "--listen", "127.0.0.1:0", "--codec", codec).address
		call := func(args ...string) outcome { return run(append([]string{"call", "--target", target}, args...)...) }
		call("calc/div", "[7,2]").want(t, outcome{stdout: "[3,1]\n"})
		call("/calc/div", ` ["-9223372036854775808", 1.0] `, "--codec", "json").want(t, outcome{stdout: "[\"-9223372036854775808\",0]\n"})
		call("hello/say", `["许多 <b>",1,-2,0.5]`).want(t, outcome{stdout: "[\"许多 <b>\",1,-2,0.5]\n"})
		call("hello/say", `["a",1,-2,0.5]`, "--codec", "json").want(t, outcome{stdout: "[\"a\",1,-2,0.5]\n"})
		call("calc/div", "[7,0]").want(t, outcome{status: exitFailed,
			stderr: `{"code":"INVALID_ARGUMENT","message":"division by zero","details":[],"delivery":"executed"}` + "\n"})
		call("calc/div", "[7]").want(t, outcome{status: exitFailed,
			stderr: `{"code":"INVALID_ARGUMENT","message":"/calc/div takes 2 parameters, got 1","details":[],"delivery":"refused"}` + "\n"})
		call("calc/mul", "[7]").want(t, outcome{status: exitFailed,
			stderr: `{"code":"UNIMPLEMENTED","message":"method /calc/mul is not served by this server","details":[],"delivery":"refused"}` + "\n"})
	}
}

func TestCallTurnsDownOtherCodecsForCodeFirstMethods(t *testing.T) {
	run("call", "--target", "127.0.0.1:1", "calc/div", "[7,2]", "--codec", "xml").wantUsage(t, "for a code-first method want msgpack or json")
}

func TestBenchMeasuresCodeFirstMethods(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	for _, method := range []string{"calc/div", "hello/say", "/calc/div"} {
		bench(t, target, "--method", method, "--callers", "4")
	}
}
