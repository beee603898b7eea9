package image

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An image that a node already has with the same name is not written and loaded again. A different image with that name is.
func TestNodesGetWhatTheyDoNotHave(t *testing.T) {
	store, name := newStore(t), named(t, "web:1")
	made, other := sample(t, store, "program", "linux/amd64"), sample(t, store, "another", "linux/amd64")
	calls := filepath.Join(t.TempDir(), "calls")
	binary := filepath.Join(t.TempDir(), "operon-cluster")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> %s\n[ $2 = ls ] && echo '[{\"name\":%q,\"digest\":%q}]' || echo '[]'\n", calls, name.Full, made.Descriptor.Digest)
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPERON_CLUSTER_BINARY", binary)
	var told []string
	for _, image := range []Image{made, other} {
		if _, err := store.Deliver(t.Context(), name, image, Delivery{Cluster: "dev", Tell: func(doing string) { told = append(told, doing) }}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"the nodes of cluster dev have web:1 already", "loading web:1 into the nodes of cluster dev"}; !slices.Equal(told, want) {
		t.Errorf("told was %q", told)
	}
	called, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(called), "image load --cluster dev -o json ") != 1 {
		t.Errorf("called with\n%s%v", called, err)
	}
}

// Errors of operon-cluster are passed on.
func TestNodesThatTakeNoImage(t *testing.T) {
	store, name := newStore(t), named(t, "web:1")
	made := sample(t, store, "program", "linux/amd64")
	for script, want := range map[string]string{
		"echo 'operon-cluster: unknown command \"image\"' >&2; exit 2": `load the image into cluster "dev": unknown command "image"`,
		"echo 'operon-cluster: the node is gone' >&2; exit 1":          `load the image into cluster "dev": the node is gone`,
		"exit 1":    `load the image into cluster "dev": exit status 1`,
		"echo text": `read the images of cluster "dev": invalid character`,
	} {
		binary := filepath.Join(t.TempDir(), "operon-cluster")
		if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("OPERON_CLUSTER_BINARY", binary)
		_, err := store.Deliver(t.Context(), name, made, Delivery{Cluster: "dev"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", script, err)
		}
	}
}
