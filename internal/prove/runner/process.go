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
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// Process is an operator that is a program, in any language.
type Process struct {
	// Path of the executable, Args without its name. In Args, each {port} stands for a port on
	// loopback that is free, {namespace} for the world's namespace.
	Path string
	Args []string
	// Go: it is written in Go, which lets ports be kept for it while it starts.
	Go bool
	// Elect are arguments that are added where the operator takes part in leader election, and
	// Alone where it does not.
	Elect, Alone []string
	// Dir is the working directory.
	Dir string
	// Env is added to the environment of this process.
	Env []string
}

// Start starts the program. It learns of the cluster by $KUBECONFIG and, where [Process.InCluster]
// says nothing against it, as a pod does; of its namespace by $POD_NAMESPACE.
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

// kept are ports that are kept for a program.
type kept []*ports.Port

func (k kept) giveBack() {
	for _, port := range k {
		_ = port.Close() // it was bound, and no more
	}
}

// accountFolder is where a pod finds its ServiceAccount.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster says why a program does not get the settings of a pod on this machine, nil where it
// does: they are all there, or none is.
func (Process) InCluster() error { return process.CanMount(accountFolder) }

// inside are the settings of a pod: the API server's address in two variables, and a directory.
func (p Process) inside(access Access) (env []string, mounts []process.Mount, err error) {
	if p.InCluster() != nil {
		return nil, nil, nil // the session says so, and $KUBECONFIG is enough for most
	}
	server, err := url.Parse(access.Config.Host)
	if err != nil {
		return nil, nil, err
	}
	env = []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	return env, []process.Mount{{Source: access.Account, Target: accountFolder}}, nil
}

// environment is the user's own, with what tells the operator where and who it is.
func environment(access Access) []string {
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBERNETES_SERVICE_") || strings.HasPrefix(variable, "KUBECONFIG=")
	})
	return append(kept,
		"KUBECONFIG="+access.Kubeconfig,
		"POD_NAMESPACE="+access.Namespace,
		"POD_NAME=operator",
		"ENABLE_WEBHOOKS=false", // kubebuilder's switch: there are no certificates here
	)
}

// fill replaces the places of an argument that are kept for what is known only now.
func (p Process) fill(argument string, access Access, kept *kept) (string, error) {
	argument = strings.ReplaceAll(argument, "{namespace}", access.Namespace)
	for strings.Contains(argument, "{port}") {
		port, err := ports.Reserve()
		if err != nil {
			return "", err
		}
		if *kept = append(*kept, port); !p.Go {
			kept.giveBack() // in some languages it could not listen there
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
