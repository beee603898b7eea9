package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// DefaultName is the name of the cluster that is used by default.
const DefaultName = "default"

// State of a cluster.
type State string

// The states.
const (
	// Running clusters serve requests.
	Running State = "Running"
	// Stopped clusters have no process, but their state still exists.
	Stopped State = "Stopped"
	// Damaged clusters have a description that cannot be read. They can only be removed.
	Damaged State = "Damaged"
)

// NodeKind is the kind of node that runs the pods of a cluster.
type NodeKind string

// The kinds.
const (
	// Simulated nodes only report that pods run.
	Simulated NodeKind = "sim"
	// Container is a node that runs containers. It requires Linux, root and some programs on the machine.
	Container NodeKind = "container"
)

// Options configure a cluster to start. The zero value starts the default cluster with one simulated node. A cluster
// that is already running is not changed.
type Options struct {
	// Name is the name of the cluster. Default: DefaultName.
	Name string
	// Node is the kind of node. Default: Simulated.
	Node NodeKind
	// Nodes is the number of simulated nodes. Default: 1, or 0 with Container.
	Nodes int
	// Data is a directory that retains the state of the cluster after it is stopped. By default, the state is lost.
	Data string
	// TTL is the time without use after which the cluster stops automatically. By default, it keeps running.
	TTL time.Duration
	// Port is the port of the API server on the loopback interface. Default: a free one.
	Port int
	// Plain disables all accelerations, so that the components of Kubernetes run unmodified; see docs/cluster.md.
	Plain bool
	// Config is a file with settings of the components; see docs/cluster.md.
	Config string
	// Progress receives messages when the binary is built or another process builds it, and if the previous process
	// of the cluster crashed. By default, they are dropped.
	Progress io.Writer
}

// Cluster describes a local cluster, as reported by operon-cluster.
type Cluster struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Server is the URL of the API server.
	Server string `json:"server,omitempty"`
	// Kubeconfig is the path of a kubeconfig with an administrator's certificate, mode 0600.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	PID        int    `json:"pid,omitempty"`
	// Version of Kubernetes, such as v1.37.2.
	Version string   `json:"version,omitempty"`
	Node    NodeKind `json:"node,omitempty"`
	// Nodes is the number of simulated nodes.
	Nodes int `json:"nodes,omitempty"`
	// Registry is the address to push images to, and the prefix of their names. It is empty without a container
	// node.
	Registry string `json:"registry,omitempty"`
	// Egress reports whether pods can reach what this machine can reach.
	Egress bool `json:"egress,omitempty"`
	// Published are ports of this machine that are forwarded to ports of the node, as IP:HOSTPORT:NODEPORT.
	Published []string `json:"published,omitempty"`
	// Data is the directory that retains the state, if there is one.
	Data string `json:"data,omitempty"`
	// Plain reports whether all accelerations are disabled.
	Plain bool `json:"plain,omitempty"`
	// TTL is the time without use after which the cluster stops automatically. If it is empty, the cluster never stops.
	TTL          string    `json:"ttl,omitempty"`
	StartedAt    time.Time `json:"startedAt,omitzero"`
	ReadySeconds float64   `json:"readySeconds,omitempty"`
	// Log is the path of the cluster's log.
	Log string `json:"log,omitempty"`
	// Crash is set by Up if the previous process of the cluster was killed or crashed: a sentence with the reason.
	Crash string `json:"crash,omitempty"`
	// MergedInto is the user's kubeconfig that contains the cluster's context, if one does.
	MergedInto string `json:"mergedInto,omitempty"`
}

// Up starts a cluster, unless it is already running, and returns when its API and its controllers are ready.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	cluster := &Cluster{}
	if err := call(ctx, options.Progress, cluster, append([]string{"up"}, options.arguments()...)...); err != nil {
		return nil, err
	}
	if cluster.Crash != "" && options.Progress != nil {
		fmt.Fprintln(options.Progress, cluster.Crash)
	}
	return cluster, nil
}

// Down stops a cluster and removes all its files. It returns an error if the cluster is unknown.
func Down(ctx context.Context, name string) error {
	return call(ctx, nil, nil, "down", "--cluster", name)
}

// RESTConfig returns a client configuration for the cluster, with the permissions of an administrator and without
// client-side throttling.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %q: %w", c.Name, err)
	}
	config.QPS = -1
	return config, nil
}

func (o Options) arguments() []string {
	name := o.Name
	if name == "" {
		name = DefaultName
	}
	arguments := []string{"--cluster", name}
	add := func(given bool, flag string, value any) {
		if given {
			arguments = append(arguments, flag, fmt.Sprint(value))
		}
	}
	add(o.Node != "", "--node", o.Node)
	add(o.Nodes > 0, "--nodes", o.Nodes)
	add(o.Data != "", "--data", o.Data)
	add(o.TTL > 0, "--ttl", o.TTL)
	add(o.Port > 0, "--port", o.Port)
	add(o.Config != "", "--config", o.Config)
	if o.Plain {
		arguments = append(arguments, "--plain")
	}
	return arguments
}

// call runs one command of operon-cluster. If result is set, it requests JSON and decodes it.
func call(ctx context.Context, progress io.Writer, result any, arguments ...string) error {
	if progress == nil {
		progress = io.Discard
	}
	binary, err := Binary(ctx, progress)
	if err != nil {
		return err
	}
	if result != nil {
		arguments = append(arguments, "-o", "json")
	}
	stdout, stderr, err := run(ctx, binary, nil, arguments...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == NeedsNode {
		node, failed := Node(ctx, progress)
		if failed != nil {
			return failed
		}
		stdout, stderr, err = run(ctx, binary, []string{variables[nodeName] + "=" + node}, arguments...)
	}
	if err != nil {
		return callError(ctx, arguments[0], stderr, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(stdout), result); err != nil {
		return fmt.Errorf("read what `%s %s` printed: %w", binaryName, arguments[0], err)
	}
	return nil
}

// run runs operon-cluster with additional environment variables.
func run(ctx context.Context, binary string, env []string, arguments ...string) (stdout, stderr string, err error) {
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr = &out, &said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // this process forwards Ctrl-C
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	err = command.Run()
	return out.String(), said.String(), err
}

// callError returns the binary's own error message if there is one.
func callError(ctx context.Context, verb, stderr string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("local cluster: %s: stopped: %w", verb, cause)
	}
	said := strings.TrimSpace(stderr)
	if _, after, found := strings.Cut(said, binaryName+": "); found {
		said = after
	}
	if said == "" {
		return fmt.Errorf("local cluster: %s: %w", verb, err)
	}
	return errors.New("local cluster: " + said)
}
