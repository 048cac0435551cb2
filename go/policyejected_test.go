package trunkcall_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

const ejects = "    outliers:\n      consecutive: 1\n      eject: 1h\n      cap: 50\n"

// ejectedFrom are the scopes that leave the endpoint out that is the second of two.
func ejectedFrom(t *testing.T, c *trunkcall.Client) []string {
	t.Helper()
	all := c.Endpoints()
	if len(all) != 2 || len(all[0].Ejected) > 0 {
		t.Errorf("%+v", all)
	}
	return all[1].Ejected
}

func TestTheScopesThatEjectAnEndpointAreAmongItsGauges(t *testing.T) {
	file := "defaults:\n" + ejects + "services:\n  test.Service:\n    methods:\n      Echo:\n    " +
		"    outliers:\n          consecutive: 1\n          eject: 1h\n          cap: 50\n"
	servers := []*repeatedly{{answer: succeeds}, {answer: failsWith(trunkcall.Unavailable)}}
	several(t, file, servers, func(t *testing.T, c *trunkcall.Client) {
		if scopes := ejectedFrom(t, c); scopes != nil {
			t.Errorf("%q at first", scopes)
		}
		for servers[1].count() == 0 {
			_, _ = echo.Call(t.Context(), c, text("x"))
		}
		if scopes, want := ejectedFrom(t, c), []string{`services."test.Service".methods.Echo`}; !slices.Equal(scopes, want) {
			t.Errorf("%q, want %q", scopes, want)
		}
	})
}

func TestAnEndpointThatIsEjectedIsToldWithoutALoggerToo(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	servers := []*repeatedly{{answer: succeeds}, {answer: failsWith(trunkcall.Unavailable)}}
	several(t, "defaults:\n"+ejects, servers, func(t *testing.T, c *trunkcall.Client) {
		for servers[1].count() == 0 {
			_, _ = echo.Call(t.Context(), c, text("x"))
		}
	})
	if !log.has("level=WARN", `msg="endpoint ejected"`, "endpoint=1 scope=defaults") {
		t.Error("it was not told")
	}
}
