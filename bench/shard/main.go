// Command shard measures replicas that share objects: the cost of each of three replicas compared to a single one, how fast
// objects are handed over and, in the API server's audit log, that no object is written by two owners and none waits too long
// while replicas are killed, stopped, frozen and added at random.
//
//	go run ./shard                       # all three, about half an hour
//	go run ./shard --only play --play 10m --seed 7
//	go run ./shard --only size --objects 10000
//	go run ./shard --only handover --rounds 10
//
// Each part has a separate cluster, whose API server selects shards, and replicas that are processes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/internal/cluster"
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

// shards is the number of shards of the objects.
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

// replica runs the process of one replica. Each object creates a ConfigMap.
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

// boxes is a new cluster with the kind Box, whose API server selects shards.
type boxes struct{ *cluster.Cluster }

func startBoxes(ctx context.Context, auditPolicy string) (*boxes, error) {
	c, err := cluster.Start(ctx, cluster.Options{
		Name: "bench-shard", Settings: "featureGates: {ShardedListAndWatch: true}\n", AuditPolicy: auditPolicy,
	})
	return &boxes{c}, err
}

// replica starts a replica as a process.
func (c *boxes) replica(s settings, slots int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self, "--cluster", c.Kubeconfig, "--shards", fmt.Sprint(slots), "--lease", s.lease.String())
	process.Stderr = os.Stderr
	return process, process.Start()
}
