package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/bench/internal/report"
)

// writers create objects side by side.
const writers = 16

// cluster is a fresh cluster with the objects in it.
type cluster struct {
	home, kubeconfig string
	client           client.WithWatch
	audit            audit
}

func (c *cluster) command(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.Join(c.home, "operon-cluster"), args...)
	command.Env = append(os.Environ(), "OPERON_HOME="+c.home)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %s", strings.Join(args, " "), exit.Stderr)
	}
	return out, err
}

// startCluster starts a cluster and creates the objects in it.
func startCluster(ctx context.Context, s settings) (*cluster, error) {
	home, err := os.MkdirTemp("", "operon-bench")
	if err != nil {
		return nil, err
	}
	c := &cluster{home: home}
	if err := report.Build(ctx, "cluster", "./cmd/operon-cluster", c.home); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.home))
	}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	if err := c.fill(ctx, s); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) up(ctx context.Context) error {
	policy, config := filepath.Join(c.home, "policy.yaml"), filepath.Join(c.home, "config.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte("auditPolicy: "+policy+"\n"), 0o600); err != nil {
		return err
	}
	out, err := c.command(ctx, "up", "--config", config, "-o", "json")
	if err != nil {
		return err
	}
	var facts struct{ Kubeconfig string }
	if err := json.Unmarshal(out, &facts); err != nil {
		return err
	}
	c.kubeconfig = facts.Kubeconfig
	c.audit.path = filepath.Join(filepath.Dir(facts.Kubeconfig), "audit.log")
	return c.connect()
}

func (c *cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), addToScheme(scheme)); err != nil {
		return err
	}
	c.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// fill defines the kind and creates the objects.
func (c *cluster) fill(ctx context.Context, s settings) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(siteCRD, &definition.Object); err != nil {
		return err
	}
	if err := c.client.Create(ctx, definition); err != nil {
		return err
	}
	if err := c.awaitKind(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range s.objects {
		group.Go(func() error {
			site := &Site{
				ObjectMeta: metav1.ObjectMeta{Name: siteName(i), Namespace: metav1.NamespaceDefault},
				Spec:       SiteSpec{Replicas: int32(s.replicas), Page: "hello"},
			}
			return c.client.Create(ctx, site)
		})
	}
	return group.Wait()
}

func siteName(i int) string { return "site-" + strconv.Itoa(i) }

// awaitKind returns when the API server serves the kind.
func (c *cluster) awaitKind(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		err := c.client.List(ctx, &SiteList{}, client.Limit(1))
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// pollPeriod is how often a question is asked that has no event for its answer.
const pollPeriod = 100 * time.Millisecond

func poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// start runs an operator in a process of its own.
func (c *cluster) start(ctx context.Context, name string, s settings) (*operator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--operator", name, "--cluster", c.kubeconfig}
	if name == "operon" {
		args = append(args, "--cpuprofile", s.cpuProfile, "--memprofile", s.memProfile)
	}
	process := exec.CommandContext(ctx, self, args...)
	process.Stderr = os.Stderr
	return &operator{process: process}, process.Start()
}

// settle returns when the operator has made no request for a while. One that has just
// started gets its first requests out well before that.
func (c *cluster) settle(ctx context.Context) error {
	for {
		n, err := c.requestsDuring(ctx, quiet)
		if n == 0 || err != nil {
			return err
		}
	}
}

// requestsDuring counts what the operator asks for in a time, watches and leases aside.
func (c *cluster) requestsDuring(ctx context.Context, d time.Duration) (int64, error) {
	began := time.Now()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(d):
	}
	counts, err := c.audit.count(began)
	return counts[read] + counts[write] + counts[event], err
}

func (c *cluster) stop() error {
	_, err := c.command(context.Background(), "down", "--all")
	return errors.Join(err, os.RemoveAll(c.home))
}
