package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// With --egress, pods reach everything that this machine reaches, by address and by name, and images are pulled from
// registries.
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
	keep(t, images, program, "team/app:1")
	h.must("image", "load", archive(t, "app:1", runtime.GOARCH, program))
	h.must("kubectl", "create", "secret", "docker-registry", "reads", "--docker-server="+registryName, "--docker-username=reader", "--docker-password=secret")
	pulled := strings.ReplaceAll(pod("pulled", "say", "it"), "app:1", registryName+"/team/app:1")
	h.apply(pod("inside", "serve") + strings.Replace(pulled, "spec:", "spec:\n  imagePullSecrets: [{name: reads}]", 1) + strings.NewReplacer("pulled", "stranger", "team/app:1", "team/other:1").Replace(pulled))
	h.must("kubectl", "wait", "pod/inside", "--for=condition=Ready", "--timeout=240s")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "http://" + worldAddress}, "from outside"},
		{[]string{"get", "http://" + worldName}, "from outside"},
		{[]string{"send", worldName + ":4000", "50000000"}, "50000000 <nil>"},
		{[]string{"many", worldAddress + ":4000", "300"}, "300 were answered"},
		{[]string{"get", "http://kubernetes.default.svc:443"}, "HTTPS server"},
		{[]string{"send", worldAddress + ":9", "1"}, "connection reset"},
		{[]string{"get", "http://nothing.example"}, "no such host"},
		{[]string{"get", "http://" + sixName}, "network is unreachable"},
		{[]string{"ask", worldAddress + ":9"}, "no route to host"},
	} {
		h.prints(c.want, c.args...)
	}
	// The client gives up after a while, and the machine may be slow.
	h.await("a name is answered slowly", shows("1 <nil>"), "exec", "inside", "--", "/app", "send", slowName+":4000", "1")
	h.must("kubectl", "wait", "pod/pulled", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=240s")
	if log := h.must("kubectl", "logs", "pulled"); log != "[it]\n" {
		t.Errorf("of a registry's image: %q", log)
	}
	h.await("that without credentials there is no image", shows("authorization failed"), "get", "pod", "stranger", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}")
}

// prints checks what the program in the pod inside prints. It gets three attempts: on a slow machine, a connection may time out.
func (h *home) prints(want string, args ...string) {
	h.t.Helper()
	var r result
	for range 3 {
		if r = h.run(append([]string{"kubectl", "exec", "inside", "--", "/app"}, args...)...); strings.Contains(r.stdout+r.stderr, want) {
			return
		}
	}
	h.t.Errorf("%q: %+v, want %q", args, r, want)
}

// keep pushes an image to a registry that requires credentials, bypassing the credential check.
func keep(t *testing.T, images http.Handler, program []byte, to string) {
	t.Helper()
	server := httptest.NewServer(images)
	defer server.Close()
	push(t, program, strings.TrimPrefix(server.URL, "http://")+"/"+to)
}
