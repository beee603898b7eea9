package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/testaid"
)

// needsNode skips a test if this machine cannot run containers, and logs the reason.
func needsNode(t *testing.T) {
	t.Helper()
	if err := node.Check(); err != nil {
		testaid.Lacks(t, "%v", err)
	}
}

// buildApp builds the program that the tests' containers run.
func buildApp(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./testdata/app")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// archive writes an image of one program in the format of `docker save`, and returns its path.
func archive(t *testing.T, name, architecture string, program []byte) string {
	t.Helper()
	layer := pack(t, 0o755, map[string][]byte{"app": program})
	config := marshal(t, map[string]any{
		"architecture": architecture, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/app"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	manifest := marshal(t, []any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	path := filepath.Join(t.TempDir(), "image.tar")
	whole := pack(t, 0o644, map[string][]byte{"config.json": config, "layer.tar": layer, "manifest.json": manifest})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pack(t *testing.T, mode int64, files map[string][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for name, data := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// apply applies manifests to the cluster.
func (h *home) apply(manifest string, flags ...string) {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.must(slices.Concat([]string{"kubectl"}, flags, []string{"apply", "-f", path})...)
}

// pod returns the manifest of a pod that runs the tests' program.
func pod(name string, args ...string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  containers:
  - name: app
    image: app:1
    args: ["%s"]
---`, name, name, strings.Join(args, `", "`))
}

const web = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---`

func TestContainers(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	facts := h.up("--node", "container", "--publish", "0:30080", "--publish", "0:8088")
	program := buildApp(t)
	if said := h.must("image", "load", archive(t, "app:1", runtime.GOARCH, program)); !strings.Contains(said, "loaded docker.io/library/app:1") {
		t.Errorf("image load: %s", said)
	}
	h.apply(web + pod("web", "serve") + burning)
	h.must("kubectl", "wait", "pod/web", "--for=condition=Ready", within)
	// A pod without a probe is ready before its program prints anything.
	h.await("the pod's log", shows("serving"), "logs", "web")
	if said := h.must("kubectl", "exec", "web", "--", "/app", "say", "in", "the", "pod"); said != "[in the pod]\n" {
		t.Errorf("exec: %q", said)
	}
	if got := h.forward(t, "pod/web"); got != "hello" {
		t.Errorf("through port-forward: %q", got)
	}
	t.Run("names and Services", func(t *testing.T) {
		h.apply(pod("asks", "get", "http://web.default.svc.cluster.local"))
		h.must("kubectl", "wait", "pod/asks", "--for=jsonpath={.status.phase}=Succeeded", within)
		if log := h.must("kubectl", "logs", "asks"); log != "hello" {
			t.Errorf("log: %q", log)
		}
	})
	t.Run("no way out", func(t *testing.T) {
		r := h.run("kubectl", "exec", "web", "--", "/app", "send", worldAddress+":80", "1")
		if r.code == 0 || strings.Contains(r.stderr, "reset") || !strings.Contains(r.stderr, "network is unreachable") {
			t.Errorf("without --egress: %+v", r)
		}
	})
	t.Run("the API server", func(t *testing.T) {
		h.must("kubectl", "create", "rolebinding", "reads", "--clusterrole=view", "--serviceaccount=default:default")
		h.await("the API server knows of the rights", shows("yes"), "auth", "can-i", "list", "pods", "--as", "system:serviceaccount:default:default")
		const kubelet = "https://198.18.128.1:10250/pods"
		h.apply(pod("api", "api", "pods", "secrets", kubelet))
		h.must("kubectl", "wait", "pod/api", "--for=jsonpath={.status.phase}=Succeeded", within)
		if log := h.must("kubectl", "logs", "api"); log != "pods 200 OK\nsecrets 403 Forbidden\n"+kubelet+" 403 Forbidden\n" {
			t.Errorf("log: %q", log)
		}
	})
	t.Run("no kubelet without authentication", func(t *testing.T) {
		if r := h.run("kubectl", "exec", "web", "--", "/app", "get", "http://198.18.128.1:10255/pods"); r.code == 0 || !strings.Contains(r.stderr, "dial tcp 198.18.128.1:10255: ") {
			t.Errorf("the kubelet's port for reading: %+v", r)
		}
	})
	t.Run("what is used", h.seesRealUsage) // early, because the pods that it removes use processor time
	t.Run("ports", func(t *testing.T) { reachesPorts(t, h, facts.Published) })
	t.Run("what does not work", func(t *testing.T) { refuses(t, h, program) })
	t.Run("images", func(t *testing.T) {
		if list := h.must("image", "ls"); strings.Count(list, "\n") != 2 || !strings.Contains(list, "docker.io/library/app:1") {
			t.Errorf("images:\n%s", list)
		}
		h.must("image", "rm", "app:1")
		if list := h.must("image", "ls"); strings.Contains(list, "app:1") {
			t.Errorf("images after rm:\n%s", list)
		}
	})
	t.Run("images that are replaced or removed", func(t *testing.T) { freesImages(t, h, program) })
	t.Run("an image whose load is killed", func(t *testing.T) { killsLoad(t, h, program) })
	t.Run("images that are pushed", func(t *testing.T) { pushes(t, h, facts.Registry, program) })
}

// refuses checks the error messages for images and pods that cannot work.
func refuses(t *testing.T, h *home, program []byte) {
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no image. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"image", "load", archive(t, "other:1", other, program)}, "image docker.io/library/other:1 is for linux/" + other + ", and this node is"},
		{[]string{"image", "load", archive(t, "operon.local/pause:1", runtime.GOARCH, program)}, "which the node itself runs in each pod"},
		{[]string{"image", "load", text}, "is not an image: want a tar file"},
		{[]string{"image", "load", text + "2"}, "no such file"},
		{[]string{"image", "load"}, "FILE is required"},
		{[]string{"image", "rm", "nothing:1"}, "unknown image docker.io/library/nothing:1; existing images: docker.io/library/app:1"},
	} {
		if r := h.run(c.args...); r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: %+v, want %q", c.args, r, c.want)
		}
	}
	h.apply(strings.ReplaceAll(pod("missing", "say"), "app:1", "missing:1"))
	h.must("kubectl", "wait", "pod/missing", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull", within)
	if said := h.must("kubectl", "get", "pod", "missing", "-o", "jsonpath={.status.containerStatuses[0].state.waiting.message}"); !strings.Contains(said, "missing:1: not found") {
		t.Errorf("an image that does not exist: %q", said)
	}
	h.apply(strings.ReplaceAll(pod("nocommand", "say"), "    args:", "    command: [/nothing]\n    args:"))
	h.must("kubectl", "wait", "pod/nocommand", "--for=jsonpath={.status.phase}=Failed", within)
	if said := h.must("kubectl", "get", "pod", "nocommand", "-o", "jsonpath={.status.containerStatuses[0].state.terminated.message}"); !strings.Contains(said, "/nothing") {
		t.Errorf("a command that is not in the image: %q", said)
	}
}

// freesImages checks that the contents of an image are removed when it loses its last name.
func freesImages(t *testing.T, h *home, program []byte) {
	kept := func(program []byte) bool {
		layer := pack(t, 0o755, map[string][]byte{"app": program})
		_, err := os.Stat(fmt.Sprintf("%s/clusters/default/node/containerd/io.containerd.content.v1.content/blobs/sha256/%x", h.path, sha256.Sum256(layer)))
		return err == nil
	}
	first, second := slices.Concat(program, []byte("first")), slices.Concat(program, []byte("second"))
	h.must("image", "load", archive(t, "own:1", runtime.GOARCH, first), archive(t, "own:2", runtime.GOARCH, first))
	h.must("image", "load", archive(t, "own:1", runtime.GOARCH, second))
	if !kept(first) || !kept(second) {
		t.Fatal("an image that has a name is not complete")
	}
	h.must("image", "load", archive(t, "own:2", runtime.GOARCH, second))
	if kept(first) {
		t.Error("an image that was replaced is left")
	}
	h.must("image", "rm", "own:1", "own:2")
	h.must("image", "load", archive(t, "own:3", runtime.GOARCH, first))
	h.must("image", "rm", "own:3")
	if kept(first) || kept(second) {
		t.Error("an image that was removed is left")
	}
}

// forward sends a request to port 8080 of a pod through a port of this machine, and returns the response.
func (h *home) forward(t *testing.T, target string) string {
	t.Helper()
	command := h.command("kubectl", "port-forward", target, ":8080")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Process.Signal(syscall.SIGTERM)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	response, err := http.Get("http://" + address)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// If a cluster has a node of containers and simulated nodes, the simulated nodes run only the pods that request it.
func TestContainersBesideSimulatedNodes(t *testing.T) {
	t.Parallel()
	needsNode(t)
	h := newHome(t)
	if facts := h.up("--node", "container", "--nodes", "2"); facts.Node != "container" || facts.Nodes != 2 {
		t.Errorf("facts: %+v", facts)
	}
	h.must("image", "load", archive(t, "app:1", runtime.GOARCH, buildApp(t)))
	asks := strings.Replace(pod("simulated", "serve"), "spec:", "spec:\n  nodeSelector: {sim.operon.dev/node: \"true\"}\n  tolerations: [{key: sim.operon.dev/node, operator: Exists}]", 1)
	h.apply(pod("real", "serve") + asks)
	h.must("kubectl", "wait", "pod/real", "pod/simulated", "--for=condition=Ready", within)
	if on := h.must("kubectl", "get", "pod", "real", "simulated", "-o", "jsonpath={.items[*].spec.nodeName}"); !strings.HasPrefix(on, "container-0 node-") {
		t.Errorf("pods are on %s", on)
	}
}

func TestImagesNeedContainers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.up()
	if r := h.run("image", "ls"); r.code != exitFailed || !strings.Contains(r.stderr, "--node container") {
		t.Errorf("%+v", r)
	}
}
