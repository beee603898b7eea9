package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// A cluster that is added to the user's kubeconfig is its current context until the cluster is stopped. Then the previous
// context is current again, and all other entries are unchanged.
func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		current string
		remove  bool // the user removes the previous context in the meantime
		chooses bool // the user chooses another context in the meantime
		killed  bool // the cluster is killed, and started again without --merge
		stops   bool // the cluster is still stopping when it is started again without --merge
		want    string
	}{
		"restored":             {current: "work", want: "work"},
		"there was none":       {want: ""},
		"removed meanwhile":    {current: "work", remove: true, want: ""},
		"the user chose again": {current: "work", chooses: true, want: "other"},
		"killed":               {current: "work", killed: true, want: "work"},
		"stopping":             {current: "work", stops: true, want: "work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			file := filepath.Join(h.path, "users-kubeconfig")
			h.env = append(h.env, "KUBECONFIG="+file)
			mine := api.NewConfig()
			for _, context := range []string{"work", "other"} {
				mine.Clusters[context] = &api.Cluster{Server: "https://" + context + ".example.com"}
				mine.Contexts[context] = &api.Context{Cluster: context}
			}
			mine.CurrentContext = c.current
			write(t, *mine, file)
			data := "--data=" + filepath.Join(h.path, "data") // a process that closes its state stops more slowly
			if facts := h.up("--merge", data); facts.MergedInto != file {
				t.Fatalf("merged into %q", facts.MergedInto)
			}
			h.must("up", "--merge") // again: the previous context is still known
			merged := read(t, file)
			if merged.CurrentContext != "operon-default" || len(merged.Contexts) != 3 {
				t.Fatalf("the current context is %q of %d", merged.CurrentContext, len(merged.Contexts))
			}
			if c.killed {
				if err := syscall.Kill(h.up().PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				h.up()
				merged = read(t, file)
			}
			if c.stops {
				stopping := h.up().PID
				if err := syscall.Kill(stopping, syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(patience); h.up(data).PID == stopping; { // on a busy machine, it has not received the signal yet
					if time.Now().After(deadline) {
						t.Fatal("the cluster does not stop")
					}
				}
				if now := read(t, file); now.CurrentContext != c.current || now.Contexts["operon-default"] != nil {
					t.Errorf("after the cluster has stopped, the current context is %q of %d", now.CurrentContext, len(now.Contexts))
				}
				h.up("--merge")
				merged = read(t, file)
			}
			if nodes := h.kubectlBy(file, "get", "nodes", "-o", "name"); nodes != "node/node-0" {
				t.Errorf("by the merged kubeconfig there are %q", nodes)
			}
			if c.remove {
				delete(merged.Contexts, "work")
			}
			if c.chooses {
				merged.CurrentContext = "other"
			}
			write(t, *merged, file)
			h.must("down")
			after := read(t, file)
			if after.CurrentContext != c.want || after.Contexts["operon-default"] != nil || after.Clusters["operon-default"] != nil || after.AuthInfos["operon-default"] != nil {
				t.Errorf("the current context is %q, want %q; the clusters are %v", after.CurrentContext, c.want, after.Clusters)
			}
			if after.Clusters["work"] == nil || after.Clusters["work"].Server != "https://work.example.com" {
				t.Errorf("the user's cluster is %v", after.Clusters["work"])
			}
		})
	}
}

// kubectlBy runs kubectl with the given kubeconfig.
func (h *home) kubectlBy(file string, args ...string) string {
	h.t.Helper()
	return strings.TrimSpace(h.must(append([]string{"kubectl", "--kubeconfig", file}, args...)...))
}

func read(t *testing.T, file string) *api.Config {
	t.Helper()
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func write(t *testing.T, config api.Config, file string) {
	t.Helper()
	if err := clientcmd.WriteToFile(config, file); err != nil {
		t.Fatal(err)
	}
}

// The shell commands that env prints point tools at the cluster, whatever its path contains.
func TestEnv(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env = []string{"OPERON_HOME=" + h.path + "/it's $HOME"}
	facts := h.up()
	shell := exec.Command("sh", "-c", h.must("env")+"\nprintf %s \"$KUBECONFIG\"")
	shell.Env = append(os.Environ(), "KUBECONFIG=/nowhere")
	said, err := shell.Output()
	if err != nil || strings.TrimSpace(string(said)) != facts.Kubeconfig {
		t.Errorf("$KUBECONFIG is %q, want %q (%v)", said, facts.Kubeconfig, err)
	}
}
