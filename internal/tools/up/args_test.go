package up

import (
	"slices"
	"testing"
)

// Down runs the operator again with the same arguments.
func TestArgumentsAreKept(t *testing.T) {
	t.Parallel()
	f := &folder{path: t.TempDir()}
	if args, err := f.keptArgs(); err != nil || args != nil {
		t.Errorf("before it ran: %q, %v", args, err)
	}
	for _, want := range [][]string{{"--color=red", "--sizes=1, 2"}, nil} {
		if err := f.keepArgs(want); err != nil {
			t.Fatal(err)
		}
		if args, err := f.keptArgs(); err != nil || !slices.Equal(args, want) {
			t.Errorf("%q, want %q (%v)", args, want, err)
		}
	}
}
