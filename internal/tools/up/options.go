package up

import (
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultTimeout is how long samples may take to become ready, and Down to remove everything.
const DefaultTimeout = time.Minute

// Mode is how long Run runs.
type Mode string

// The modes.
const (
	// Loop runs until the context ends, and takes up every change of the project.
	Loop Mode = "loop"
	// Once runs until every sample is ready.
	Once Mode = "once"
)

// Where is a cluster. The zero value is the default local cluster.
type Where struct {
	// Name of a local cluster.
	Name string `json:"name,omitempty"`
	// Kubeconfig is a file, and Context one of its contexts, of a cluster that is not started
	// here. A context alone is looked for in the user's own kubeconfig.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
}

// IsLocal reports whether the cluster is one of package local's.
func (w Where) IsLocal() bool { return w.Kubeconfig == "" && w.Context == "" }

// Options of Run.
type Options struct {
	// Dir is the project's directory.
	Dir string
	// Main is the directory of the main package where the project has several.
	Main string
	// Args are further arguments of the operator, such as flags of its author's.
	Args []string
	// Where to run it, by default in the default local cluster.
	Where Where
	// Mode is Loop by default.
	Mode Mode
	// Timeout of mode Once, counted from the operator's start, by default DefaultTimeout.
	Timeout time.Duration
	// Print prints the final state of the samples in mode Once. If nil, it is printed as text to Stdout.
	Print func(samples []*unstructured.Unstructured) error
	// UnsafeCRDs lets changed CustomResourceDefinitions be applied that break stored objects.
	UnsafeCRDs bool
	// Stdout gets the live picture or the final state, Stderr the progress; by default the
	// process's own.
	Stdout, Stderr *os.File
}

func (o Options) withDefaults() Options {
	if o.Mode == "" {
		o.Mode = Loop
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o
}

// progress is where lines about the start go: with the picture, or where they do not get
// into a program's input.
func (o Options) progress() io.Writer {
	if o.Mode == Once {
		return o.Stderr
	}
	return o.Stdout
}
