package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// With --egress pods reach what this machine reaches, by address and by name, and images
// come from registries.
func TestEgress(t *testing.T) {
	t.Parallel()
	needsNode(t)
	w := newWorld(t)
	w.answerNames()
	w.count(4000)
	web := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "from outside") })}
	go web.Serve(w.listen(80))
	t.Cleanup(func() { web.Close() })
	images, authority := w.keepImages("reader", "secret")

	h := newHome(t)
	h.enter, h.env = w.do, []string{"SSL_CERT_FILE=" + authority}
	h.up("--node", "container", "--egress")
	program := buildApp(t)
	keep(t, images, archive(t, "any:1", runtime.GOARCH, program), "team/app:1")
	h.must("image", "load", archive(t, "app:1", runtime.GOARCH, program))
	h.must("kubectl", "create", "secret", "docker-registry", "reads", "--docker-server="+registryName, "--docker-username=reader", "--docker-password=secret")
	pulled := strings.ReplaceAll(pod("pulled", "say", "it"), "app:1", registryName+"/team/app:1")
	h.apply(strings.Replace(pulled, "spec:", "spec:\n  imagePullSecrets: [{name: reads}]", 1) +
		strings.ReplaceAll(pulled, "pulled", "stranger") +
		pod("address", "get", "http://"+worldAddress) +
		pod("name", "get", "http://"+worldName) +
		pod("counted", "send", worldName+":4000", "3000000") +
		pod("service", "get", "http://kubernetes.default.svc:443") +
		pod("closed", "send", worldAddress+":9", "1"))
	ended := func(pod, phase, want string) {
		t.Helper()
		h.must("kubectl", "wait", "pod/"+pod, "--for=jsonpath={.status.phase}="+phase, "--timeout=120s")
		if log := h.must("kubectl", "logs", pod); !strings.Contains(log, want) {
			t.Errorf("%s: %q, want %q", pod, log, want)
		}
	}
	ended("pulled", "Succeeded", "[it]")
	ended("address", "Succeeded", "from outside")
	ended("name", "Succeeded", "from outside")
	ended("counted", "Succeeded", "3000000 <nil>")
	ended("service", "Succeeded", "HTTPS server")
	ended("closed", "Failed", "connection reset")
	h.must("kubectl", "wait", "pod/stranger", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull", "--timeout=120s")
	if said := h.must("kubectl", "get", "pod", "stranger", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}"); !strings.Contains(said, "authorization failed") {
		t.Errorf("without credentials: %q", said)
	}
}

// keep puts an image into a registry that wants credentials, past those.
func keep(t *testing.T, images http.Handler, path, to string) {
	t.Helper()
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(images)
	defer server.Close()
	tag, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/" + to)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
}
