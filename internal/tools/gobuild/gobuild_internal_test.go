package gobuild

import (
	"runtime/debug"
	"strings"
	"testing"
)

// Only a release compiles operators as images are built. A user's choice of cgo is kept, and so are flags for debuggers and sanitizers.
func TestFlags(t *testing.T) {
	trimmed, static := debug.BuildSetting{Key: "-trimpath", Value: "true"}, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}
	release := []debug.BuildSetting{trimmed, static}
	for _, one := range []struct {
		own                         []debug.BuildSetting
		cgo, everyday, flags, added string
	}{
		{nil, "", "", "", ""},
		{[]debug.BuildSetting{static}, "", "", "", ""},
		{[]debug.BuildSetting{trimmed, {Key: "CGO_ENABLED", Value: "1"}}, "", "", "", ""},
		{release, "", "-mod=mod", "-trimpath", "CGO_ENABLED=0"},
		{release, "1", "", "-trimpath", ""},
		{release, "", "-ldflags=", "", ""},
		{release, "", "-mod=mod -race", "", ""},
	} {
		t.Setenv("CGO_ENABLED", one.cgo)
		t.Setenv("GOFLAGS", one.everyday)
		flags, env := like(one.own)
		if strings.Join(flags, " ") != one.flags || strings.Join(env, " ") != one.added {
			t.Errorf("%+v: %q, %q", one, flags, env)
		}
	}
}
