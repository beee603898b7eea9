// Command webhooks asks an operator of three replicas about objects, without a pause, while its CA
// and its certificates are replaced again and again, and counts what fails.
//
//	go run ./webhooks --rate 200 --for 2m
//
// The certificates have short lives, by real clocks: a CA 45 s, a leaf 15 s. API servers reach the
// replicas by a Service, in turn for each connection. Every request goes through a webhook that
// defaults and one that validates; nothing is stored.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/report"
	"github.com/operon-framework/operon/internal/box"
	"github.com/operon-framework/operon/local"
)

// settings are the flags.
type settings struct {
	rate, replicas int
	during         time.Duration
	lives          operon.Lifetimes
}

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	s := settings{lives: operon.Lifetimes{Settle: 2 * time.Second, Skew: time.Minute}}
	flag.IntVar(&s.rate, "rate", 200, "requests a second")
	flag.IntVar(&s.replicas, "replicas", 3, "replicas of the operator")
	flag.DurationVar(&s.during, "for", 2*time.Minute, "how long is asked")
	flag.DurationVar(&s.lives.CA, "ca", 45*time.Second, "how long a CA lives")
	flag.DurationVar(&s.lives.Leaf, "leaf", 15*time.Second, "how long a leaf lives")
	flag.Parse()
	cluster, err := local.Up(ctx, local.Options{Name: "bench-webhooks", Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { _ = local.Down(context.Background(), cluster.Name) }() // it stops or is stopped by hand
	w, err := newWorld(ctx, cluster, s)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := w.works(ctx); err != nil {
		return err
	}
	seen := w.lookOn(ctx)
	asked := w.load(ctx)
	cas, leaves := seen()
	return errors.Join(w.write(asked, cas, leaves), ctx.Err())
}

// answers are what became of requests.
type answers struct {
	mu     sync.Mutex
	took   []time.Duration
	failed []error
}

func (a *answers) note(took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = append(a.took, took)
	if err != nil {
		a.failed = append(a.failed, err)
	}
}

// load asks at the rate, whether or not earlier requests were answered.
func (w *world) load(ctx context.Context) *answers {
	a := &answers{}
	ctx, cancel := context.WithTimeout(ctx, w.during)
	defer cancel()
	ticker := time.NewTicker(time.Second / time.Duration(w.rate))
	defer ticker.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return a
		case <-ticker.C:
			running.Go(func() {
				began := time.Now()
				err := w.ask(context.WithoutCancel(ctx))
				a.note(time.Since(began), err)
			})
		}
	}
}

// ask sends an object that is defaulted and validated, and is not stored.
func (w *world) ask(ctx context.Context) error {
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{GenerateName: "b-", Namespace: metav1.NamespaceDefault}}
	if err := w.client.Create(ctx, b, client.DryRunAll); err != nil {
		return err
	}
	if b.Spec.Data["size"] == "" {
		return errors.New("an object passed unseen")
	}
	return nil
}

// lookOn counts the certificates that are kept, until what it returns is called.
func (w *world) lookOn(ctx context.Context) func() (cas, leaves int) {
	authorities, certificates := map[string]bool{}, map[string]bool{}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			secret := &corev1.Secret{}
			if err := w.client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: service + "-certificates"}, secret); err == nil {
				authorities[string(secret.Data["ca.key"])], certificates[string(secret.Data["tls.crt"])] = true, true
			}
			time.Sleep(200 * time.Millisecond) // far below the time that a certificate lives; it only counts them
		}
	})
	return func() (int, int) {
		cancel()
		running.Wait()
		return len(authorities), len(certificates)
	}
}

// write prints the table.
func (w *world) write(a *answers, cas, leaves int) error {
	if len(a.took) == 0 {
		return errors.New("nothing was asked")
	}
	slices.Sort(a.took)
	at := func(part float64) string {
		return fmt.Sprintf("%.1f ms", a.took[int(part*float64(len(a.took)-1))].Seconds()*1000)
	}
	met := report.Met
	if len(a.failed) > 0 {
		met = report.Missed
		fmt.Fprintln(os.Stderr, "the first that failed:", a.failed[0])
	}
	return report.Write(os.Stdout, "–", []report.Figure{
		{Name: "admission requests", Operon: fmt.Sprintf("%d, %.0f /s", len(a.took), float64(len(a.took))/w.during.Seconds()), Met: report.None},
		{Name: "CAs and leaves that were in use", Operon: fmt.Sprintf("%d and %d", cas, leaves), Met: report.None},
		{Name: "requests that failed", Operon: fmt.Sprint(len(a.failed)), Goal: "0", Met: met},
		{Name: "a creation through both webhooks, median", Operon: at(0.5), Met: report.None},
		{Name: "… p99", Operon: at(0.99), Met: report.None},
	})
}
