package runner

import (
	"context"
	"io"

	"k8s.io/client-go/rest"
)

// Operator is what is tested: something that can be started any number of times.
type Operator interface {
	// Start starts an instance. It returns when that runs, not when it is ready.
	Start(ctx context.Context, access Access) (Running, error)
}

// Access is what an instance gets to reach the API server, by way of the proxy.
type Access struct {
	// Namespace is the world's. An operator that watches one namespace watches this one.
	Namespace string
	// Config leads through the proxy. Kubeconfig is a file that says the same.
	Config     *rest.Config
	Kubeconfig string
	// Account is a directory that says it as a pod is told it: a token, ca.crt and the namespace.
	Account string
	// Folder is the instance's own, for this user alone. It is removed with the world.
	Folder string
	// Elect: the operator takes part in leader election, as it is tested what comes of two.
	Elect bool
	// Log takes what the operator prints.
	Log io.Writer
}

// Running is an instance.
type Running interface {
	// Kill ends it without giving it time for anything.
	Kill()
	// Stop asks it to end in good order, and ends it after a while.
	Stop()
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// End is how it ended. It is valid once Done is closed.
	End() End
}

// End is how an instance ended.
type End struct {
	// Code is the exit code, -1 where a signal ended it. Signal names that.
	Code   int
	Signal string
	// Err is what a function returned.
	Err error
}
