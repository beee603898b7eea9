package fast_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/fast"
)

// A process can run only one control plane. Further ones run in child processes of the test binary: the first variable makes a
// process run one, and names its directory. The second one names the accelerations that are disabled.
const (
	childDir    = "OPERON_TEST_PLANE"
	childExcept = "OPERON_TEST_PLANE_EXCEPT"
)

// serveChild runs a control plane until standard input is closed. It prints how long the start took.
func serveChild(dir string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	cfg := controlplane.Config{Dir: dir}
	plane, err := controlplane.Start(ctx, cfg, fast.Extensions(cfg, strings.Split(os.Getenv(childExcept), ",")...)...)
	if err == nil {
		fmt.Println(time.Since(began))
		err = plane.WriteKubeconfig(filepath.Join(dir, "kubeconfig"), "test")
		fmt.Println("ready", memory())
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// memory returns the resident memory of this process, in the format of Linux.
func memory() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	value, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(value)
}

// child is a control plane in a separate process.
type child struct {
	name   string
	took   time.Duration // by its start
	config *rest.Config
	client *http.Client
	stop   func()
}

// startChild starts a control plane without the accelerations in except. It is stopped when the test ends.
func startChild(tb testing.TB, name string, except ...string) *child {
	tb.Helper()
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childDir+"="+dir, childExcept+"="+strings.Join(except, ","))
	log := &bytes.Buffer{} // read after the process has ended
	command.Stderr = log
	input, err := command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		input.Close()
		if err := command.Wait(); err != nil {
			tb.Errorf("control plane %s: %v\n%s", name, err, log)
		}
	})
	tb.Cleanup(stop)
	lines := bufio.NewScanner(output)
	lines.Scan()
	took, err := time.ParseDuration(lines.Text())
	if err != nil || !lines.Scan() {
		stop()
		tb.Fatalf("control plane %s did not start: %v", name, err)
	}
	tb.Logf("control plane %s started in %s, memory %s", name, took, lines.Text())
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		tb.Fatal(err)
	}
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	return &child{name, took, config, client, stop}
}

// allNames returns the names of all accelerations.
func allNames() []string {
	var names []string
	for _, a := range fast.All() {
		names = append(names, a.Name)
	}
	return names
}

// BenchmarkStart measures starts with all accelerations, without any, and without each of them:
//
//	go test -run '^$' -bench Start -benchtime 5x ./internal/controlplane/fast
func BenchmarkStart(b *testing.B) {
	measure := func(name string, except ...string) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				one := startChild(b, name, except...)
				took = append(took, one.took)
				one.stop()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms/start")
		})
	}
	measure("all")
	for _, name := range allNames() {
		measure("without-"+name, name)
	}
	measure("plain", allNames()...)
}
