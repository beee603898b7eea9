package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
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

// pushElsewhere pushes an index that has only an image for another platform. The contents of the image do not matter.
func pushElsewhere(t *testing.T, to string) {
	t.Helper()
	reference, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: empty.Image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}})
	if err := remote.WriteIndex(reference, index); err != nil {
		t.Fatal(err)
	}
}

// refusesStrangers checks that a push by another user of this machine is rejected.
func refusesStrangers(t *testing.T, to string) {
	t.Helper()
	reference, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	err = remote.Write(reference, empty.Image, remote.WithTransport(&http.Transport{DialContext: dialAsNobody}))
	if err == nil || !strings.Contains(err.Error(), "this registry belongs to another user's cluster") {
		t.Errorf("another user pushes: %v", err)
	}
}

// dialAsNobody connects through a socket that belongs to another user. A socket belongs to the user whose file permissions its
// thread uses.
func dialAsNobody(_ context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		return nil, err
	}
	conn, err := net.Dial(network, address)
	return conn, errors.Join(err, unix.Setfsuid(0))
}

// pushes pushes an image and runs it by the name it was pushed to.
func pushes(t *testing.T, h *home, registry string, program []byte) {
	refusesStrangers(t, registry+"/team/pushed")
	push(t, program, registry+"/team/pushed")
	pushElsewhere(t, registry+"/team/elsewhere:1")
	if list := h.must("list", "-o", "json"); !strings.Contains(list, fmt.Sprintf(`"registry": %q`, registry)) {
		t.Errorf("list does not tell of the registry: %s", list)
	}
	told := h.must("kubectl", "get", "-n", "kube-public", "configmap", "local-registry-hosting", "-o", `jsonpath={.data.localRegistryHosting\.v1}`)
	if told != fmt.Sprintf("host: %q\n", registry) {
		t.Errorf("tools are told %q", told)
	}
	// Without a tag, both are latest, which is pulled at each start.
	local := strings.Replace(registry, "127.0.0.1", "localhost", 1)
	h.apply(strings.ReplaceAll(pod("pushed", "say", "it"), "app:1", registry+"/team/pushed") +
		strings.ReplaceAll(pod("local", "say", "it"), "app:1", local+"/team/pushed") +
		strings.ReplaceAll(pod("elsewhere", "say", "it"), "app:1", registry+"/team/elsewhere:1") +
		strings.ReplaceAll(pod("unpushed", "say", "it"), "app:1", registry+"/team/unpushed:1"))
	h.must("kubectl", "wait", "pod/pushed", "pod/local", "--for=jsonpath={.status.phase}=Succeeded", within)
	h.must("kubectl", "wait", "pod/unpushed", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull", within)
	if said := h.must("kubectl", "get", "pod", "unpushed", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}"); !strings.Contains(said, "unpushed:1: not found") {
		t.Errorf("an image that nobody pushed: %q", said)
	}
	h.await("the error of an image for another platform", shows("no match for platform"), "get", "pod", "elsewhere", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}")
	if list := h.must("image", "ls"); strings.Contains(list, "elsewhere") || !strings.Contains(list, registry+"/team/pushed:latest") {
		t.Errorf("images:\n%s", list)
	}
}
