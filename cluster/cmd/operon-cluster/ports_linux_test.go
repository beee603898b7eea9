package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const byNodePort = `
apiVersion: v1
kind: Service
metadata: {name: web-by-node}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
---`

// reachesPorts connects to a Service and a pod through ports of this machine, and to the pod from other machines.
func reachesPorts(t *testing.T, h *home, published []string) {
	if len(published) != 2 || !strings.HasPrefix(published[0], "127.0.0.1:") || !strings.HasSuffix(published[0], ":30080") {
		t.Fatalf("published: %q", published)
	}
	service, direct := strings.TrimSuffix(published[0], ":30080"), strings.TrimSuffix(published[1], ":8088")
	onNode := strings.Replace(pod("onnode", "serve"), "    args:", "    ports: [{containerPort: 8080, hostPort: 8088}, {containerPort: 8080, hostPort: 8089, protocol: UDP}, {containerPort: 8080, hostPort: 8090, protocol: SCTP}]\n    args:", 1)
	h.apply(byNodePort + onNode)
	h.must("kubectl", "wait", "pod/onnode", "--for=condition=Ready", within)
	awaitAnswer(t, "a NodePort", func() bool { return get(service) == "hello" })
	awaitAnswer(t, "a hostPort", func() bool { return get(direct) == "hello" })
	h.apply(pod("asksnode", "get", "http://198.18.128.1:8088"))
	h.must("kubectl", "wait", "pod/asksnode", "--for=jsonpath={.status.phase}=Succeeded", within)
	if log := h.must("kubectl", "logs", "asksnode"); log != "hello" {
		t.Errorf("a hostPort, from a pod: %q", log)
	}
	for _, from := range []string{"web", "onnode"} {
		if said := h.must("kubectl", "exec", from, "--", "/app", "ask", "198.18.128.1:8089"); said != "hello" {
			t.Errorf("a hostPort of UDP, from %s: %q", from, said)
		}
	}
	h.must("kubectl", "delete", "pod", "onnode")
	awaitAnswer(t, "the hostPort to lead nowhere", func() bool { return get(direct) == "" })
	awaitAnswer(t, "the hostPort of UDP to be refused", func() bool {
		r := h.run("kubectl", "exec", "web", "--", "/app", "ask", "198.18.128.1:8089")
		return r.code != 0 && strings.Contains(r.stderr, "connection refused")
	})
	wrong := strings.Replace(onNode, "hostPort: 8088", "hostPort: 8088, hostIP: 127.0.0.1", 1)
	h.apply(strings.ReplaceAll(wrong, "onnode", "wrong"))
	awaitAnswer(t, "the error of an address that the node does not have", func() bool {
		return strings.Contains(h.must("kubectl", "get", "events", "--field-selector=involvedObject.name=wrong"), "leave hostIP out")
	})
	h.must("kubectl", "delete", "pod", "wrong")
}

// get returns the response of a web server, or the empty string on errors. Each request uses a new connection: an existing one
// to a deleted pod may not respond for a long time.
func get(address string) string {
	client := &http.Client{Timeout: patience / 20, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

// awaitAnswer polls until rules of the node's network have changed. There is no event for that.
func awaitAnswer(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
