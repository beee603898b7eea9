package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Home is a directory with binaries of Operon and the data of the clusters that they start. Each measurement has its own, so a
// start is measured without data of another one.
type Home string

// NewHome makes one.
func NewHome() (Home, error) {
	dir, err := os.MkdirTemp("", "operon-bench")
	return Home(dir), err
}

// Path returns the path of a file in the directory.
func (h Home) Path(elements ...string) string {
	return filepath.Join(append([]string{string(h)}, elements...)...)
}

// Run runs a binary in the directory, and returns its output.
func (h Home) Run(ctx context.Context, binary string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, h.Path(binary), args...)
	command.Env = append(os.Environ(), "OPERON_HOME="+string(h), "OPERON_CLUSTER_BINARY="+h.Path("operon-cluster"))
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", binary, strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}

// Up starts a cluster, and returns its process ID and a client.
func (h Home) Up(ctx context.Context, args ...string) (pid int, c client.WithWatch, err error) {
	pid, config, err := h.Start(ctx, args...)
	if err != nil {
		return 0, nil, err
	}
	c, err = client.NewWithWatch(config, client.Options{})
	return pid, c, err
}

// Start starts a cluster, and returns the process ID of the cluster and a client configuration without a rate limit.
func (h Home) Start(ctx context.Context, args ...string) (pid int, config *rest.Config, err error) {
	out, err := h.Run(ctx, "operon-cluster", append([]string{"up", "-o", "json"}, args...)...)
	if err != nil {
		return 0, nil, err
	}
	var facts struct {
		PID        int
		Kubeconfig string
	}
	if err := json.Unmarshal(out, &facts); err != nil {
		return 0, nil, err
	}
	if config, err = clientcmd.BuildConfigFromFlags("", facts.Kubeconfig); err != nil {
		return 0, nil, err
	}
	config.QPS = -1
	return facts.PID, config, nil
}

// Clear stops the clusters that an interrupted measurement left running, and removes the directory.
func (h Home) Clear() error {
	var down error
	if _, err := os.Stat(h.Path("operon-cluster")); err == nil {
		_, down = h.Run(context.Background(), "operon-cluster", "down", "--all")
	}
	return errors.Join(down, os.RemoveAll(string(h)))
}
