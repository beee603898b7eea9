package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/bench/internal/cluster"
)

// writers is the number of goroutines that create objects concurrently.
const writers = 16

// sites is a new cluster that contains the objects.
type sites struct {
	*cluster.Cluster
	audit audit
}

// startSites starts a cluster and creates the objects in it.
func startSites(ctx context.Context, s settings) (*sites, error) {
	c, err := cluster.Start(ctx, cluster.Options{
		Name: "bench-runtime", CRD: siteCRD, API: addToScheme, AuditPolicy: auditPolicy,
		Settings: `apiServer: {audit-log-maxsize: "0"}` + "\n", // one file: by default, another one begins after 100 MB
	})
	if err != nil {
		return nil, err
	}
	started := &sites{Cluster: c, audit: audit{c.Audit}}
	if err := started.fill(ctx, s); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return started, nil
}

// fill creates the objects.
func (c *sites) fill(ctx context.Context, s settings) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range s.objects {
		group.Go(func() error {
			site := &Site{
				ObjectMeta: metav1.ObjectMeta{Name: siteName(i), Namespace: metav1.NamespaceDefault},
				Spec:       SiteSpec{Replicas: int32(s.replicas), Page: "hello"},
			}
			return c.Client.Create(ctx, site)
		})
	}
	return group.Wait()
}

func siteName(i int) string { return "site-" + strconv.Itoa(i) }

// start runs an operator in a separate process.
func (c *sites) start(ctx context.Context, name string, s settings) (*operator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--operator", name, "--cluster", c.Kubeconfig, "--workers", strconv.Itoa(s.workers)}
	if s.light {
		args = append(args, "--light")
	}
	if name == "operon" {
		args = append(args, "--cpuprofile", s.cpuProfile, "--memprofile", s.memProfile)
	}
	process := exec.CommandContext(ctx, self, args...)
	process.Stderr = os.Stderr
	return &operator{process: process}, process.Start()
}

// settle returns when the operator has sent no request for a while. An operator that has just started sends its first requests
// much earlier.
func (c *sites) settle(ctx context.Context) error {
	for {
		n, err := c.requestsDuring(ctx, quiet)
		if n == 0 || err != nil {
			return err
		}
	}
}

// requestsDuring counts the operator's requests during a time, except watches and requests for leases.
func (c *sites) requestsDuring(ctx context.Context, d time.Duration) (int64, error) {
	began := c.audit.now()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(d):
	}
	counts, err := c.audit.count(began)
	return counts[read] + counts[write] + counts[event], err
}
