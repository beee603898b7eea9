package image

import (
	"strings"
	"testing"
)

// The digest of a tag comes from its registry. A name with a digest needs none. Errors say what to do.
func TestPin(t *testing.T) {
	t.Parallel()
	store, server := newStore(t), newRegistry(t)
	made := sample(t, store, "program", "linux/amd64")
	to := named(t, knownHost+"/team/web:1.0")
	if err := store.push(t.Context(), to, made, server.transport); err != nil {
		t.Fatal(err)
	}
	pinned := knownHost + "/team/web@" + made.Descriptor.Digest.String()
	for _, reference := range []string{to.Full, pinned} {
		if got, err := pin(t.Context(), reference, server.transport); got != pinned || err != nil {
			t.Errorf("%s is %q, error %v", reference, got, err)
		}
	}
	for want, reference := range map[string]string{
		`the image name "a b"`: "a b",
		"read " + knownHost + "/team/web:2.0: " + knownHost + " has no such image": knownHost + "/team/web:2.0",
		"store credentials of an account that may read there":                      refused + "/team/web:1.0",
	} {
		got, err := pin(t.Context(), reference, server.transport)
		if err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %q, error %v; want %s", reference, got, err, want)
		}
	}
}
