// Command shard measures replicas that share objects: how much each of three costs against one alone, how fast
// objects change hands, and, from the API server's audit log, that no object is written by two owners and none
// starves while replicas are killed, stopped, frozen and added at random.
//
//	go run ./shard                       # all three, about half an hour
//	go run ./shard --only play --play 10m --seed 7
//	go run ./shard --only size --objects 10000
//	go run ./shard --only handover --rounds 10
//
// Each part has a cluster of its own, whose API server selects shards, and replicas that are processes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/testing/box"
)

// settings are the flags.
type settings struct {
	only            string
	objects, rounds int
	play, lease     time.Duration
	seed            uint64
	output          string
}

// shards is into how many the objects are cut.
const shards = 12

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) error {
	var s settings
	flag.StringVar(&s.only, "only", "", "measure only this: play, size or handover")
	flag.IntVar(&s.objects, "objects", 10000, "how many objects there are for size")
	flag.IntVar(&s.rounds, "rounds", 10, "how many hand-overs of each kind are measured")
	flag.DurationVar(&s.play, "play", 10*time.Minute, "how long replicas come and go")
	flag.DurationVar(&s.lease, "lease", 4*time.Second, "how long a replica may give no sign of life")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the play")
	flag.StringVar(&s.output, "o", "text", "text or json")
	kubeconfig := flag.String("cluster", "", "run as a replica, on the cluster of this kubeconfig")
	slots := flag.Int("shards", 0, "with --cluster: share the objects")
	flag.Parse()
	if *kubeconfig != "" {
		return replica(ctx, *kubeconfig, *slots, s.lease)
	}
	var figures []report.Figure
	for _, part := range []struct {
		name    string
		measure func(context.Context, settings) ([]report.Figure, error)
	}{{"handover", measureHandover}, {"size", measureSize}, {"play", measurePlay}} {
		if s.only != "" && s.only != part.name {
			continue
		}
		found, err := part.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		figures = append(figures, found...)
	}
	if s.output == "json" {
		return json.NewEncoder(os.Stdout).Encode(figures)
	}
	return report.Write(os.Stdout, "one alone", figures)
}

// replica is the process of one replica. An object makes a ConfigMap.
func replica(ctx context.Context, kubeconfig string, slots int, lease time.Duration) error {
	cluster, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg := operon.Config{Namespace: metav1.NamespaceDefault, Shards: slots, ShardLease: lease}
	return operon.Run(ctx, "box-operator", cluster, cfg, operon.API(box.AddToScheme), operon.Manage(copies{}))
}

type copies struct{}

// Compose implements operon.Composer.
func (copies) Compose(_ context.Context, b *box.Box, out *operon.Composition) error {
	out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: b.Spec.Data})
	return nil
}

// cluster is a fresh cluster that knows Boxes.
type cluster struct {
	home, kubeconfig, audit string
	client                  client.WithWatch
}

func startCluster(ctx context.Context, auditPolicy string) (*cluster, error) {
	home, err := os.MkdirTemp("", "operon-bench")
	if err != nil {
		return nil, err
	}
	c := &cluster{home: home}
	if err := errors.Join(c.build(ctx), c.up(ctx, auditPolicy), c.connect()); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// build finds the cluster's binary, as operon does, or builds it.
func (c *cluster) build(ctx context.Context) error {
	if made := os.Getenv("OPERON_CLUSTER_BINARY"); made != "" {
		return os.Symlink(made, filepath.Join(c.home, "operon-cluster"))
	}
	return report.Build(ctx, "cluster", "./cmd/operon-cluster", c.home)
}

func (c *cluster) command(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.Join(c.home, "operon-cluster"), args...)
	command.Env = append(os.Environ(), "OPERON_HOME="+c.home)
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%v: %s", args, exit.Stderr)
	}
	return out, err
}

func (c *cluster) up(ctx context.Context, auditPolicy string) error {
	config, settings := filepath.Join(c.home, "config.yaml"), "featureGates: {ShardedListAndWatch: true}\n"
	if auditPolicy != "" {
		policy := filepath.Join(c.home, "policy.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return err
		}
		settings += "auditPolicy: " + policy + "\n"
	}
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
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
	c.kubeconfig, c.audit = facts.Kubeconfig, filepath.Join(filepath.Dir(facts.Kubeconfig), "audit.log")
	root, err := report.Repository(ctx)
	if err != nil {
		return err
	}
	definition := filepath.Join(root, "testdata", "boxes.yaml")
	if _, err := c.command(ctx, "kubectl", "apply", "-f", definition); err != nil {
		return err
	}
	_, err = c.command(ctx, "kubectl", "wait", "--for=condition=Established", "-f", definition)
	return err
}

func (c *cluster) connect() error {
	if c.kubeconfig == "" {
		return nil // it did not start
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), box.AddToScheme(scheme)); err != nil {
		return err
	}
	c.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

func (c *cluster) stop() error {
	_, err := c.command(context.Background(), "down", "--all")
	return errors.Join(err, os.RemoveAll(c.home))
}

// start prepares a replica as a process.
func (c *cluster) replica(s settings, slots int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self, "--cluster", c.kubeconfig, "--shards", fmt.Sprint(slots), "--lease", s.lease.String())
	process.Stderr = os.Stderr
	return process, process.Start()
}
