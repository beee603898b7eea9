package runner

import (
	"context"
	"io"

	"k8s.io/client-go/rest"
)

// Operator is the operator under test. It can be started any number of times.
type Operator interface {
	// Start starts an instance. It returns when the instance runs, not when it is ready.
	Start(ctx context.Context, access Access) (Running, error)
}

// Access is the data with which an instance reaches the API server through the proxy.
type Access struct {
	// Namespace is the namespace of the world. An operator that watches one namespace watches this one.
	Namespace string
	// Config is the config for the proxy. Kubeconfig is a file with the same content.
	Config     *rest.Config
	Kubeconfig string
	// Account is a directory with the same data in the form that a pod receives: a token, ca.crt and the namespace.
	Account string
	// Folder is the instance's own directory. Only this user can access it. It is removed with the world.
	Folder string
	// Elect means that the operator takes part in leader election, because the behavior of two instances is tested.
	Elect bool
	// Log receives the output of the operator.
	Log io.Writer
}

// Running is a running instance.
type Running interface {
	// Kill ends the instance immediately.
	Kill()
	// Stop stops the instance gracefully, and kills it after a time.
	Stop()
	// Done returns a channel that is closed when the instance has ended.
	Done() <-chan struct{}
	// End returns how the instance ended. It is valid when Done is closed.
	End() End
}

// End is how an instance ended.
type End struct {
	// Code is the exit code. It is -1 if a signal ended the instance. Signal is the name of that signal.
	Code   int
	Signal string
	// Err is the error that a function returned.
	Err error
}
