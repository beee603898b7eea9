package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push pushes an image of the tests' program from this machine.
func push(t *testing.T, program []byte, to string) {
	t.Helper()
	image, err := tarball.ImageFromPath(archive(t, "any:1", runtime.GOARCH, program), nil)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
}

// pushes pushes an image, and runs it by the name that it was pushed to.
func pushes(t *testing.T, h *home, registry string, program []byte) {
	push(t, program, registry+"/team/pushed")
	if list := h.must("list", "-o", "json"); !strings.Contains(list, fmt.Sprintf(`"registry": %q`, registry)) {
		t.Errorf("list does not tell of the registry: %s", list)
	}
	told := h.must("kubectl", "get", "-n", "kube-public", "configmap", "local-registry-hosting", "-o", `jsonpath={.data.localRegistryHosting\.v1}`)
	if told != fmt.Sprintf("host: %q\n", registry) {
		t.Errorf("tools are told %q", told)
	}
	// Without a tag both are latest, which is asked for at each start.
	local := strings.Replace(registry, "127.0.0.1", "localhost", 1)
	h.apply(strings.ReplaceAll(pod("pushed", "say", "it"), "app:1", registry+"/team/pushed") +
		strings.ReplaceAll(pod("local", "say", "it"), "app:1", local+"/team/pushed") +
		strings.ReplaceAll(pod("unpushed", "say", "it"), "app:1", registry+"/team/unpushed:1"))
	h.must("kubectl", "wait", "pod/pushed", "pod/local", "--for=jsonpath={.status.phase}=Succeeded", within)
	h.must("kubectl", "wait", "pod/unpushed", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull", within)
	if said := h.must("kubectl", "get", "pod", "unpushed", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}"); !strings.Contains(said, "unpushed:1: not found") {
		t.Errorf("an image that nobody pushed: %q", said)
	}
}
