package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/journal"
)

// Command is what is run in a container.
type Command struct {
	// Namespace, Pod and Container say where. Container may be left out where a pod has one.
	Namespace, Pod, Container string
	// Command is the program and its arguments. $STEP_KEY is not set there: give it the attempt's Key,
	// by Keyed, where it must not be done twice.
	Command []string
	// Keyed returns the command for a key, instead of Command.
	Keyed func(key string) []string
	// Stdin may be nil.
	Stdin func() io.Reader
}

// Output is what a command wrote, its last part where that is much.
type Output struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// most is how much of each output is kept: what is stored of a step is short.
const most = journal.MaxResult / 8

// Exec runs a command in a container, by the API server. An exit code other than 0 is a failed attempt.
// A connection that breaks is one too, and the command may go on then: whether it is begun a second
// time beside the first, the command itself has to know, by its key.
//
// The operator needs create of pods/exec (and get, before Kubernetes 1.35).
func Exec(name string, command Command) durable.Step[Output] {
	return durable.Step[Output]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (Output, error) {
			if a.REST == nil {
				return Output{}, durable.Fail(errors.New("there is no connection to run a command by"))
			}
			return command.run(ctx, a)
		},
	}
}

func (c Command) run(ctx context.Context, a *durable.Attempt) (Output, error) {
	line := c.Command
	if c.Keyed != nil {
		line = c.Keyed(a.Key)
	}
	executor, err := c.executor(a.REST, line)
	if err != nil {
		return Output{}, err
	}
	var stdout, stderr tail
	options := remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}
	if c.Stdin != nil {
		options.Stdin = c.Stdin()
	}
	err = executor.StreamWithContext(ctx, options)
	if failed, ok := errors.AsType[exec.CodeExitError](err); ok {
		return Output{}, fmt.Errorf("%s in pod %s ended with %d: %s", line[0], c.Pod, failed.Code, stderr.String())
	}
	if err != nil {
		return Output{}, fmt.Errorf("run %s in pod %s: %w", line[0], c.Pod, err)
	}
	return Output{Stdout: stdout.String(), Stderr: stderr.String()}, nil
}

// executor speaks websockets.
func (c Command) executor(config *rest.Config, line []string) (remotecommand.Executor, error) {
	if len(line) == 0 || c.Pod == "" || c.Namespace == "" {
		return nil, durable.Fail(errors.New("a command needs a namespace, a pod and a program"))
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	query, err := scheme.ParameterCodec.EncodeParameters(&corev1.PodExecOptions{
		Container: c.Container, Command: line, Stdin: c.Stdin != nil, Stdout: true, Stderr: true,
	}, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	at := url.URL{Scheme: base.Scheme, Host: base.Host, RawQuery: query.Encode()}
	at.Path = path.Join("/", base.Path, "api/v1/namespaces", c.Namespace, "pods", c.Pod, "exec")
	return remotecommand.NewWebSocketExecutor(config, "GET", at.String())
}

// tail keeps the last of what is written to it.
type tail struct{ bytes.Buffer }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n, err := t.Buffer.Write(p)
	if more := t.Len() - most; more > 0 {
		t.Next(more)
	}
	return n, err
}

// String is valid text.
func (t *tail) String() string { return string(bytes.ToValidUTF8(t.Bytes(), nil)) }
