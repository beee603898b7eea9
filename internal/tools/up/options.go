package up

import (
	"context"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/up/view"
)

// DefaultTimeout is the maximum time for samples to become ready, and for Down to remove everything.
const DefaultTimeout = time.Minute

// Mode defines when Run ends.
type Mode string

// The modes.
const (
	// Loop runs until the context ends, and applies every change of the project.
	Loop Mode = "loop"
	// Once runs until every sample is ready.
	Once Mode = "once"
)

// Where selects a cluster. The zero value is the default local cluster.
type Where struct {
	// Name is the name of a local cluster.
	Name string `json:"name,omitempty"`
	// Kubeconfig is a file, and Context one of its contexts, for a cluster that is not started here. If only Context is set, the
	// user's own kubeconfig is used.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// TTL is the time without use after which a local cluster stops that this command starts. If it is 0, the cluster keeps running.
	TTL time.Duration `json:"-"`
}

// IsLocal reports whether the cluster is a local cluster of package local.
func (w Where) IsLocal() bool { return w.Kubeconfig == "" && w.Context == "" }

// Options of Run.
type Options struct {
	// Dir is the project's directory.
	Dir string
	// Main is the directory of the main package, if the project has several.
	Main string
	// Args are additional arguments of the operator, such as flags that its author defined.
	Args []string
	// Where is the cluster to run it in, by default the default local cluster.
	Where Where
	// Mode is the mode. The default is Loop.
	Mode Mode
	// Timeout is the timeout of mode Once, from the start of the operator. The default is DefaultTimeout.
	Timeout time.Duration
	// Print prints the final state of the samples in mode Once. If nil, it is printed as text to Stdout.
	Print func(samples []*unstructured.Unstructured) error
	// Use is called while the operator runs, in place of what Mode does: a test of the project, for example. The project is then
	// installed under another name, see [Running], and everything is removed when Use returns.
	Use func(context.Context, *Running) error
	// Build writes the operator's program to a file. The default builds the main package.
	Build func(ctx context.Context, target string) error
	// Down is the command that removes what Run creates, for messages. The default is `operon down` with the directory.
	Down string
	// UnsafeCRDs allows changed CustomResourceDefinitions that break stored objects to be applied.
	UnsafeCRDs bool
	// Quiet leaves out the progress.
	Quiet bool
	// Colors turns colors on or off. If it is nil, they are used on a terminal, unless $NO_COLOR is set.
	Colors *bool
	// Stdout receives the live display or the final state, and Stderr the progress. The defaults are those of the process.
	Stdout, Stderr *os.File
}

func (o Options) withDefaults() Options {
	if o.Use != nil {
		o.Mode = Once
	}
	if o.Mode == "" {
		o.Mode = Loop
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Colors == nil {
		o.Colors = new(view.StyleFor(o.Stdout) == view.Colour)
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	return o
}

// progress returns the writer for lines about the start: the same as for the display, or, in mode Once, one that is not read
// by other programs.
func (o Options) progress() io.Writer {
	if o.Quiet {
		return io.Discard
	}
	if o.Mode == Once {
		return o.Stderr
	}
	return o.Stdout
}
