// Command tenants measures the cost of a hostile tenant for others: the memory and requests of an operator, and the time from a
// change of another tenant's object to its status.
//
//	go run ./tenants --for 30s --rate 50
//
// The operator runs three times in one cluster, each time as a separate process, while one tenant changes one object after the
// other: without the hostile tenant, with a hostile tenant that the operator does not serve, which shows the cost for the
// cluster and the machine, and with a hostile tenant that it serves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
)

// settings are the flags.
type settings struct {
	during time.Duration
	boxes  int
	rate   float64
}

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.DurationVar(&s.during, "for", 30*time.Second, "how long each of the three runs takes")
	flag.IntVar(&s.boxes, "boxes", 200, "how many objects the hostile tenant creates")
	flag.Float64Var(&s.rate, "rate", 50, "how many requests the hostile tenant sends in a second")
	kubeconfig := flag.String("cluster", "", "run as the operator, on the cluster of this kubeconfig")
	serve := flag.String("serve", "", "with --cluster: the namespaces, separated by commas")
	flag.Parse()
	if *kubeconfig != "" {
		return serveTenants(ctx, *kubeconfig, strings.Split(*serve, ","))
	}
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-tenants"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	var runs []measurement
	for _, kind := range []trial{{"calm", false, false}, {"beside", true, false}, {"hostile", true, true}} {
		fmt.Fprintln(os.Stderr, kind.name)
		m, err := measure(ctx, c, kind, s)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		runs = append(runs, m)
	}
	calm, beside, hostile := runs[0], runs[1], runs[2]
	fmt.Printf("the hostile tenant sent %d writes, the other one %d\n\n", hostile.attacks, hostile.writes)
	return report.Write(os.Stdout, "calm", figures(calm, beside, hostile))
}

// trial is one of the three runs.
type trial struct {
	name string
	// attacked means that there is a hostile tenant. served means that the operator serves it.
	attacked, served bool
}

func figures(calm, beside, hostile measurement) []report.Figure {
	at := func(name string, share float64, of, peer measurement, goal float64) report.Figure {
		return report.AtMost(name, []time.Duration{of.quantile(share)}, []time.Duration{peer.quantile(share)}, report.Seconds, goal)
	}
	perWrite := func(n float64) string { return fmt.Sprintf("%.1f", n) }
	return []report.Figure{
		report.AtMost("peak memory of the operator (resident)", []int64{hostile.peak}, []int64{calm.peak}, report.Megabytes, 2),
		report.AtMost("requests of the operator for a write of a tenant", []float64{hostile.perWrite()}, []float64{calm.perWrite()}, perWrite, 2),
		at("the other tenant's change to its status, p99", 0.99, hostile, calm, 1.5),
		at("… median", 0.5, hostile, calm, 0),
		at("… p99, with the attack on the API server alone in place of calm", 0.99, hostile, beside, 1.5),
		at("… median, likewise", 0.5, hostile, beside, 0),
	}
}

// measure runs the operator, the tenant, and the hostile tenant if there is one.
func measure(ctx context.Context, c *cluster.Cluster, kind trial, s settings) (m measurement, err error) {
	good, bad := kind.name+"-good", kind.name+"-bad"
	for _, namespace := range []string{good, bad} {
		if err := c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			return m, err
		}
	}
	served := good
	if kind.served {
		served += "," + bad
	}
	operator := exec.Command(os.Args[0], "--cluster", c.Kubeconfig, "--serve", served)
	var out strings.Builder
	operator.Stdout, operator.Stderr = &out, os.Stderr
	if err := operator.Start(); err != nil {
		return m, err
	}
	t := &tenant{Client: c.Client, namespace: good}
	err = t.prepare(ctx)
	attacking, stop := context.WithCancel(ctx)
	attacked := make(chan int, 1)
	if err == nil && kind.attacked {
		go func() { attacked <- attack(attacking, c.Client, bad, t.uids(), s) }()
	}
	if err == nil {
		m.took, err = t.work(ctx, s.during)
	}
	stop()
	if err == nil && kind.attacked {
		m.attacks = <-attacked
	}
	used, usageErr := report.Usage(operator.Process.Pid)
	m.peak, m.writes = used.Peak, len(m.took)+boxesOfTenant
	err = errors.Join(err, usageErr, operator.Process.Signal(syscall.SIGTERM), operator.Wait())
	if err == nil {
		_, err = fmt.Sscan(out.String(), &m.requests)
	}
	return m, errors.Join(err, c.Client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(bad)))
}
