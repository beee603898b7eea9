// Package cluster starts the local clusters on which benchmarks measure operators. Each is new, has one kind installed, and a
// client without a rate limit.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local"
)

// Options are the options of a cluster.
type Options struct {
	// Name is the prefix of the cluster's name.
	Name string
	// CRD is the CRD of the kind in YAML, and API registers its Go types. Default: Boxes.
	CRD []byte
	API func(*runtime.Scheme) error
	// Settings are the settings of the cluster's components, in YAML.
	Settings string
	// AuditPolicy is the audit policy of the API server. Default: nothing is logged.
	AuditPolicy string
}

// Cluster is a running cluster.
type Cluster struct {
	Config     *rest.Config
	Client     client.WithWatch
	Kubeconfig string
	// Audit is the path of the API server's audit log.
	Audit string
	// PID is that of the cluster's process.
	PID int

	name, dir string
}

// Start starts a cluster.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o Options) (err error) {
	if o.API == nil {
		o.API = box.AddToScheme
	}
	if o.CRD == nil {
		root, err := report.Repository(ctx)
		if err != nil {
			return err
		}
		if o.CRD, err = os.ReadFile(filepath.Join(root, "test", "testdata", "boxes.yaml")); err != nil {
			return err
		}
	}
	if c.dir, err = os.MkdirTemp("", "operon-bench"); err != nil {
		return err
	}
	config, policy := filepath.Join(c.dir, "config.yaml"), filepath.Join(c.dir, "policy.yaml")
	if o.AuditPolicy != "" {
		o.Settings += "auditPolicy: " + policy + "\n"
	}
	if err := errors.Join(os.WriteFile(policy, []byte(o.AuditPolicy), 0o600), os.WriteFile(config, []byte(o.Settings), 0o600)); err != nil {
		return err
	}
	options := local.Options{Name: fmt.Sprintf("%s-%d", o.Name, os.Getpid()), Progress: os.Stderr}
	if o.Settings != "" {
		options.Config = config
	}
	running, err := local.Up(ctx, options)
	if err != nil {
		return err
	}
	c.PID = running.PID
	c.name, c.Kubeconfig, c.Audit = running.Name, running.Kubeconfig, filepath.Join(filepath.Dir(running.Kubeconfig), "audit.log")
	if c.Config, err = running.RESTConfig(); err != nil {
		return err
	}
	return c.connect(ctx, o)
}

// connect creates the client and installs the kind.
func (c *Cluster) connect(ctx context.Context, o Options) (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), o.API(scheme)); err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(o.CRD, &definition.Object); err != nil {
		return err
	}
	if err := kube.InstallCRDs(ctx, c.Config, "bench", definition); err != nil {
		return err
	}
	c.Client, err = client.NewWithWatch(c.Config, client.Options{Scheme: scheme})
	return err
}

// Stop stops the cluster, even if the measurement was interrupted.
func (c *Cluster) Stop() error {
	var down error
	if c.name != "" {
		down = local.Down(context.Background(), c.name)
	}
	return errors.Join(down, os.RemoveAll(c.dir))
}
