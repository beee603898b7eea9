package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
)

// Command is a command that runs in a container.
type Command struct {
	// Namespace, Pod and Container state where it runs. Container is optional if the pod has only one.
	Namespace, Pod, Container string
	// Command is the program and its arguments. $STEP_KEY is not set for it: if it must not be done twice, use
	// Keyed to pass the attempt's Key.
	Command []string
	// Keyed returns the command for a key, instead of Command.
	Keyed func(key string) []string
	// Stdin returns the command's standard input for an attempt. It may be nil. Load ignores it.
	Stdin func() io.Reader
}

// Output is what a command wrote. If that is long, only the last part is kept.
type Output struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// most is how much of each output is kept: the stored result of a step must be short.
const most = journal.MaxResult / 8

// Exec runs a command in a container, through the API server. An exit code other than 0 is a failed attempt. So is
// a broken connection, after which the command may still be running: use the key if the command must not run twice
// at the same time.
//
// The operator needs the permission to create pods/exec (and to get it, before Kubernetes 1.35).
func Exec(name string, command Command) durable.Step[Output] {
	return durable.Step[Output]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (Output, error) {
			var stdin io.Reader
			if command.Stdin != nil {
				stdin = command.Stdin()
			}
			return command.run(ctx, a, stdin, nil)
		},
	}
}

// run runs the command with an input, which may be nil. If whole is not nil, the complete standard output is written to whole
// instead.
func (c Command) run(ctx context.Context, a *durable.Attempt, stdin io.Reader, whole io.Writer) (Output, error) {
	if a.REST == nil {
		return Output{}, durable.Fail(errors.New("exec needs a REST config"))
	}
	line := c.Command
	if c.Keyed != nil {
		line = c.Keyed(a.Key)
	}
	executor, err := c.executor(a.REST, line, stdin != nil)
	if err != nil {
		return Output{}, err
	}
	var stdout, stderr tail
	options := remotecommand.StreamOptions{Stdin: stdin, Stdout: &stdout, Stderr: &stderr}
	if whole != nil {
		options.Stdout = whole
	}
	streams := &streams{}
	if stdin != nil {
		options.Stdin = input{stdin, streams}
	}
	options.Stdout = outputTo{options.Stdout, streams}
	err = executor.StreamWithContext(ctx, options)
	if failed, ok := errors.AsType[exec.CodeExitError](err); ok {
		return Output{}, fmt.Errorf("%s in pod %s ended with %d: %s", line[0], c.Pod, failed.Code, stderr.String())
	}
	if err != nil {
		return Output{}, fmt.Errorf("run %s in pod %s: %w", line[0], c.Pod, err)
	}
	if err := streams.failure(); err != nil {
		return Output{}, fmt.Errorf("%s in pod %s did not get its whole input, or its output was cut off: %w", line[0], c.Pod, err)
	}
	return Output{Stdout: stdout.String(), Stderr: stderr.String()}, nil
}

// streams holds the first error of the input and the output. The executor only logs these errors: a command whose input breaks off sees its end.
type streams struct {
	mu  sync.Mutex
	err error
}

func (s *streams) note(err error) {
	if err == nil || errors.Is(err, io.EOF) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *streams) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// input is the input of a command.
type input struct {
	io.Reader
	streams *streams
}

func (i input) Read(p []byte) (int, error) {
	n, err := i.Reader.Read(p)
	i.streams.note(err)
	return n, err
}

// outputTo is where the output of a command goes.
type outputTo struct {
	io.Writer
	streams *streams
}

func (o outputTo) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.streams.note(err)
	return n, err
}

// executor uses WebSockets.
func (c Command) executor(config *rest.Config, line []string, stdin bool) (remotecommand.Executor, error) {
	if len(line) == 0 || c.Pod == "" || c.Namespace == "" {
		return nil, durable.Fail(errors.New("a command needs a namespace, a pod and a program"))
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	query, err := scheme.ParameterCodec.EncodeParameters(&corev1.PodExecOptions{
		Container: c.Container, Command: line, Stdin: stdin, Stdout: true, Stderr: true,
	}, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	at := url.URL{Scheme: base.Scheme, Host: base.Host, RawQuery: query.Encode()}
	at.Path = path.Join("/", base.Path, "api/v1/namespaces", c.Namespace, "pods", c.Pod, "exec")
	return remotecommand.NewWebSocketExecutor(config, "GET", at.String())
}

// tail keeps the last part of what is written to it. Unlike a Buffer, it has no ReadFrom method, which io.Copy would use
// instead of Write.
type tail struct{ text []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - most; more > 0 {
		t.text = append(t.text[:0], t.text[more:]...)
	}
	return len(p), nil
}

// String returns valid UTF-8.
func (t *tail) String() string { return string(bytes.ToValidUTF8(t.text, nil)) }
