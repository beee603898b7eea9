package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/fast"
	"github.com/operon-framework/operon/cluster/internal/controlplane/reset"
	"github.com/operon-framework/operon/cluster/internal/controlplane/slow"
	"github.com/operon-framework/operon/cluster/internal/garbage"
	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
	"github.com/operon-framework/operon/cluster/internal/sim"
)

// outcome is the message that the process of a cluster sends to the process that started it, over an inherited pipe: ready, or
// the error.
type outcome struct {
	Error string `json:"error,omitempty"`
}

// Serve runs the cluster that Up prepared in this process until ctx ends, the cluster has been idle for its TTL, or it fails.
// It writes to ready when it serves, or why it cannot.
func Serve(ctx context.Context, name string, ready io.WriteCloser) error {
	adjust := garbage.Target()
	ctx, finish := context.WithCancel(ctx)
	defer finish()
	s, err := newServer(ctx, name)
	if err == nil {
		s.finish = finish
		err = s.start(ctx)
	}
	report := outcome{}
	if err != nil {
		report.Error = err.Error()
	}
	if writeErr := errors.Join(json.NewEncoder(ready).Encode(report), ready.Close()); writeErr != nil {
		klog.ErrorS(writeErr, "no client waits for this cluster any longer")
	}
	if err != nil {
		return err
	}
	go adjust(ctx)
	go s.giveBackMemory(ctx)
	return s.run(ctx)
}

// server is a cluster in its own process.
type server struct {
	folder  folder
	spec    Spec
	started time.Time
	// The locks are held as long as the files are referenced: closing a file releases its lock.
	lock, dataLock *os.File
	plane          *controlplane.ControlPlane
	resetter       *reset.Resetter
	nodes          *sim.Sim
	containers     *containers // nil: no node runs containers
	activity       activity
	finish         context.CancelFunc // ends run
	stop           context.CancelFunc // ends the components
}

func newServer(ctx context.Context, name string) (*server, error) {
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	s := &server{folder: f, started: time.Now()}
	patient, cancel := context.WithTimeout(ctx, timing.lockDeadline)
	defer cancel()
	if s.lock, err = lock(patient, f.runLock()); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", name, err)
	}
	if err := signLock(s.lock); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.spec())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &s.spec); err != nil {
		return nil, fmt.Errorf("%s: %w", f.spec(), err)
	}
	return s, nil
}

func (s *server) start(ctx context.Context) error {
	var level klog.Level
	if err := level.Set(strconv.Itoa(s.spec.LogLevel)); err != nil {
		return err
	}
	if err := s.lockData(); err != nil {
		return err
	}
	// When ctx ends, a node still needs the API server, to stop its containers. The deadline must not stop a cluster that was started in time.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	interrupted := context.AfterFunc(ctx, stop)
	deadline := time.AfterFunc(timing.startDeadline, stop)
	if err := s.startComponents(life); err != nil {
		if !deadline.Stop() {
			err = fmt.Errorf("not ready after %s: %w", timing.startDeadline, err)
		}
		return err
	}
	if !deadline.Stop() {
		return fmt.Errorf("not ready after %s", timing.startDeadline)
	}
	if !interrupted() {
		return context.Cause(ctx)
	}
	if err := s.serveControl(ctx); err != nil {
		return err
	}
	return s.publish()
}

func (s *server) startComponents(ctx context.Context) error {
	if s.spec.Node == Container {
		images, err := serveImages(ctx, s.folder, s.spec, &s.activity)
		if err != nil {
			return fmt.Errorf("image registry: %w", err)
		}
		ports, err := publishPorts(s.spec)
		if err != nil {
			return err
		}
		s.containers = startContainers(s.folder, s.spec, &s.activity, images, ports)
		if err := s.containers.serveEgress(ctx, s.folder); err != nil {
			return err
		}
	}
	if err := s.startPlane(ctx); err != nil {
		return err
	}
	if err := s.startNodes(ctx); err != nil {
		return fmt.Errorf("simulated nodes: %w", err)
	}
	if s.containers != nil {
		if err := s.containers.join(ctx, s.plane); err != nil {
			return fmt.Errorf("container node: %w", s.withLog(err))
		}
	}
	if err := s.resetter.RememberFirst(ctx, s.plane, string(s.spec.Node)); err != nil {
		return fmt.Errorf("record the initial state: %w", err)
	}
	return nil
}

// startPlane starts the control plane. It applies the accelerations unless the spec requests a plain cluster.
func (s *server) startPlane(ctx context.Context) error {
	config := s.spec.config(s.folder)
	s.resetter = reset.New(config)
	extensions := []controlplane.Extension{{Handler: slow.Handler}, {Handler: s.activity.wrap}, s.resetter.Extension()}
	if !s.spec.Plain {
		extensions = append(extensions, fast.Extensions(config)...)
	}
	var err error
	s.plane, err = controlplane.Start(ctx, config, extensions...)
	return err
}

// withLog adds the last output of a node to the error if its process died without reporting a reason, or it did not become ready.
func (s *server) withLog(err error) error {
	if !errors.Is(err, node.ErrDied) && !errors.Is(err, errNotReady) {
		return err
	}
	return fmt.Errorf("%w; its last output:\n%s", err, strings.Join(last(lastLines, ofOthers(lines(s.folder.log()))), "\n"))
}

// ofOthers removes the log lines that this process wrote: those with its pid, and those of its etcd clients, which report in JSON that they
// are closed while the cluster stops.
func ofOthers(all []string) []string {
	own := regexp.MustCompile(fmt.Sprintf(`^[IWEF]\d{4} [\d:.]+ +%d |^\{"level":.*"logger":"etcd-client"`, os.Getpid()))
	return slices.DeleteFunc(all, own.MatchString)
}

func (s *server) startNodes(ctx context.Context) error {
	client, err := s.plane.SystemConfig("simulated-nodes")
	if err != nil {
		return err
	}
	serving, err := s.plane.Serving("simulated-node", "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	config := sim.Config{
		Client:   client,
		Nodes:    s.spec.Nodes,
		NoNodes:  s.spec.Nodes == 0,
		Serving:  serving,
		ClientCA: s.plane.Authorities(),
	}
	if s.spec.Node == Container || s.spec.Data != "" { // a retained state may have volumes with contents
		config.Volumes = s.spec.volumes(s.folder)
	}
	if s.spec.Node == Container {
		config.Pods, config.Tainted, config.Contents = settings.SimulatedPods, true, true
	}
	s.nodes, err = sim.Start(ctx, config)
	return err
}

// lockData prevents a second cluster from opening the same data directory.
func (s *server) lockData() error {
	if s.spec.Data == "" {
		return nil
	}
	if err := os.MkdirAll(s.spec.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := checkSpace(s.spec.Data); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	var err error
	s.dataLock, err = tryLock(filepath.Join(s.spec.Data, ".lock"))
	if errors.Is(err, errHeld) {
		return fmt.Errorf("data directory %s: in use by another cluster", s.spec.Data)
	}
	return err
}

func (s *server) publish() error {
	if err := s.plane.WriteKubeconfig(s.folder.kubeconfig(), contextName(s.folder.name)); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(s.plane.AdminConfig())
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	facts := Facts{
		Name:         s.folder.name,
		State:        Running,
		Server:       s.plane.Server(),
		Kubeconfig:   s.folder.kubeconfig(),
		PID:          os.Getpid(),
		Version:      version.GitVersion,
		Node:         s.spec.Node,
		Nodes:        s.spec.Nodes,
		Egress:       s.spec.Egress,
		Data:         s.spec.Data,
		Plain:        s.spec.Plain,
		StartedAt:    s.started.UTC(),
		ReadySeconds: time.Since(s.started).Seconds(),
		Log:          s.folder.log(),
	}
	if s.containers != nil {
		facts.Registry = s.containers.images.address
		for _, p := range s.containers.published {
			facts.Published = append(facts.Published, p.String())
		}
	}
	if s.spec.TTL.Duration > 0 {
		facts.TTL = s.spec.TTL.Duration.String()
	}
	return s.folder.writeFacts(facts)
}

// run returns when the cluster has to stop.
func (s *server) run(ctx context.Context) error {
	if s.spec.TTL.Duration > 0 {
		go func() {
			s.activity.awaitIdle(ctx, s.spec.TTL.Duration)
			if ctx.Err() == nil {
				klog.InfoS("Stopping", "idleFor", s.spec.TTL.Duration)
			}
			s.finish()
		}()
	}
	failed := make(chan error, 1)
	go func() { failed <- s.plane.Wait() }()
	select {
	case <-s.containers.ended():
		return s.containers.node.Err()
	case <-ctx.Done():
		return s.end(failed)
	case err := <-failed:
		return err // the directory is kept because its log shows the reason
	}
}

// end closes a retained state cleanly. A temporary state is not closed: it is lost when the process ends.
func (s *server) end(closed <-chan error) error {
	if err := s.containers.stop(); err != nil {
		return err
	}
	if s.spec.Data == "" {
		return s.leave()
	}
	s.stop()
	s.nodes.Wait()
	err := <-closed
	return errors.Join(err, s.dataLock.Close(), s.leave())
}

// leave does the work of Down, because the cluster may stop without it: when it is unused, or by a signal. The start lock is
// held by Down, which repeats this, or by Up, which starts the next process and does not know that this one was merged.
func (s *server) leave() error {
	facts, err := s.folder.readFacts()
	if err == nil && facts.MergedInto != "" {
		err = unmerge(facts, s.folder.name)
	}
	starting, lockErr := tryLock(s.folder.startLock())
	if errors.Is(lockErr, errHeld) {
		return errors.Join(err, os.RemoveAll(s.folder.path))
	}
	if lockErr != nil {
		return errors.Join(err, lockErr, os.RemoveAll(s.folder.path))
	}
	defer starting.Close()
	return errors.Join(err, s.folder.removeFiles()) // this process holds the lock
}
