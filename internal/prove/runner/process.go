package runner

import (
	"context"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/tools/ports"
	"github.com/operon-framework/operon/internal/tools/up/mount"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// Process is an operator that is a program, in any language.
type Process struct {
	// Path is the path of the executable. Args are its arguments without its name. In Args, each {port} stands for a free port on
	// loopback, and {namespace} for the world's namespace.
	Path string
	Args []string
	// Go means that the program is written in Go. Then ports can be reserved for it while it starts.
	Go bool
	// Elect contains arguments that are added if the operator takes part in leader election, and
	// Alone arguments that are added if it does not.
	Elect, Alone []string
	// Dir is the working directory.
	Dir string
	// Env is added to the environment of this process.
	Env []string
}

// Start starts the program. The program finds the cluster with $KUBECONFIG and, if [Process.InCluster]
// returns nil, also as in a pod. It finds its namespace in $POD_NAMESPACE.
func (p Process) Start(_ context.Context, access Access) (Running, error) {
	arguments := slices.Concat(p.Args, p.Alone)
	if access.Elect {
		arguments = slices.Concat(p.Args, p.Elect)
	}
	var kept kept
	for i, argument := range arguments {
		filled, err := p.fill(argument, access, &kept)
		if err != nil {
			kept.giveBack()
			return nil, err
		}
		arguments[i] = filled
	}
	started, err := p.launch(arguments, access)
	if err != nil {
		kept.giveBack()
		return nil, err
	}
	go func() {
		<-started.Done()
		kept.giveBack()
	}()
	return runningProcess{started}, nil
}

func (p Process) launch(arguments []string, access Access) (*process.Process, error) {
	env, mounts, err := p.inside(access)
	if err != nil {
		return nil, err
	}
	return process.Start(process.Command{
		Path: p.Path, Args: arguments, Dir: p.Dir, Mounts: mounts,
		Env: slices.Concat(environment(access), env, p.Env),
		Log: process.NewLog(access.Log, func(string) {}),
	})
}

// kept contains ports that are reserved for a program.
type kept []*ports.Port

func (k kept) giveBack() {
	for _, port := range k {
		_ = port.Close() // the port was only bound
	}
}

// accountFolder is the directory of the ServiceAccount in a pod.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the reason why a program does not get the settings of a pod on this machine, or nil if it
// does. It gets either all of them or none.
func (Process) InCluster() error { return mount.Possible(accountFolder) }

// inside returns the settings of a pod: the API server's address in two variables, and a directory.
func (p Process) inside(access Access) (env []string, mounts []mount.Mount, err error) {
	if p.InCluster() != nil {
		return nil, nil, nil // the session reports this, and $KUBECONFIG is enough for most operators
	}
	server, err := url.Parse(access.Config.Host)
	if err != nil {
		return nil, nil, err
	}
	env = []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	return env, []mount.Mount{{Source: access.Account, Target: accountFolder}}, nil
}

// environment returns the user's environment, with the variables that an operator needs to find the cluster, its
// namespace and its name.
func environment(access Access) []string {
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBERNETES_SERVICE_") || strings.HasPrefix(variable, "KUBECONFIG=")
	})
	return append(kept,
		"KUBECONFIG="+access.Kubeconfig,
		"POD_NAMESPACE="+access.Namespace,
		"POD_NAME=operator",
		"ENABLE_WEBHOOKS=false", // kubebuilder's switch: certificates are not available here
	)
}

// fill replaces the placeholders in an argument.
func (p Process) fill(argument string, access Access, kept *kept) (string, error) {
	argument = strings.ReplaceAll(argument, "{namespace}", access.Namespace)
	for strings.Contains(argument, "{port}") {
		port, err := ports.Reserve()
		if err != nil {
			return "", err
		}
		if *kept = append(*kept, port); !p.Go {
			kept.giveBack() // programs in some languages could not listen on a reserved port
			*kept = nil
		}
		argument = strings.Replace(argument, "{port}", strconv.Itoa(port.Number), 1)
	}
	return argument, nil
}

// runningProcess is an operator that runs as a child process.
type runningProcess struct{ *process.Process }

// Stop implements Running.
func (p runningProcess) Stop() { p.Process.Stop(timing.stopGrace) }

// End implements Running.
func (p runningProcess) End() End {
	exit := p.Exit()
	end := End{Code: exit.Code}
	if exit.Signal != 0 {
		end.Signal = exit.Signal.String()
	}
	return end
}

var _ io.Writer = (*tail)(nil)
