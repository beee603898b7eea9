// Command webhooks sends requests to the webhooks of an operator with three replicas while its CA and its certificates are
// rotated, and counts failures.
//
//	go run ./webhooks --rate 200 --for 3m
//
// The certificates have short lifetimes, with real clocks: 90 s for a CA, 30 s for a leaf, which leaves 10 s for a renewal. API
// servers connect to the replicas through a Service, which forwards each connection to the next replica. Objects are created
// with dry runs. Each creation is two admission requests: one to a webhook that defaults and one to a webhook that validates.
// They are sent in bursts that are larger than the 25 connections that API servers keep open, so new connections are opened all
// the time.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/testing/box"
)

// settings are the flags.
type settings struct {
	rate, replicas int
	during         time.Duration
	lives          operon.Lifetimes
}

const (
	// burst is the number of creations that are sent at once.
	burst = 32
	// most is the maximum number of pending creations: a slower machine receives fewer, and the table reports this.
	most = 4 * burst
	// perCreation is the number of admission requests for each creation.
	perCreation = 2
)

// lookEvery is how often the leaf of each replica is checked, which is much shorter than the lifetime of a leaf.
const lookEvery = 250 * time.Millisecond

func main() {
	ctrl.SetLogger(logr.Discard())
	report.Main(run)
}

func run(ctx context.Context) (err error) {
	s := settings{lives: operon.Lifetimes{Settle: 5 * time.Second, Skew: time.Minute}}
	flag.IntVar(&s.rate, "rate", 200, "admission requests a second")
	flag.IntVar(&s.replicas, "replicas", 3, "replicas of the operator")
	flag.DurationVar(&s.during, "for", 3*time.Minute, "how long is asked")
	flag.DurationVar(&s.lives.CA, "ca", 90*time.Second, "how long a CA lives")
	flag.DurationVar(&s.lives.Leaf, "leaf", 30*time.Second, "how long a leaf lives")
	flag.Parse()
	c, err := cluster.Start(ctx, cluster.Options{Name: "bench-webhooks"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	w, err := newWorld(ctx, c, s)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := w.works(ctx); err != nil {
		return err
	}
	seen := w.lookOn(ctx)
	asked := w.load(ctx)
	return errors.Join(w.write(asked, seen()), ctx.Err())
}

// answers are the results of requests.
type answers struct {
	mu     sync.Mutex
	took   []time.Duration
	failed map[string]int // by error message
}

func (a *answers) note(took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = append(a.took, took)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), " current time") // which differs
		a.failed[text]++
	}
}

// load sends requests at the given rate, independently of earlier responses, up to a maximum number of pending ones.
func (w *world) load(ctx context.Context) *answers {
	a := &answers{failed: map[string]int{}}
	ctx, cancel := context.WithTimeout(ctx, w.during)
	defer cancel()
	ticker := time.NewTicker(burst * perCreation * time.Second / time.Duration(w.rate))
	defer ticker.Stop()
	var running errgroup.Group
	running.SetLimit(most)
	defer func() { _ = running.Wait() }() // failures are recorded
	for {
		select {
		case <-ctx.Done():
			return a
		case <-ticker.C:
			for range burst {
				running.TryGo(func() error {
					began := time.Now()
					err := w.ask(context.WithoutCancel(ctx))
					a.note(time.Since(began), err)
					return nil
				})
			}
		}
	}
}

// ask sends an object that is defaulted and validated but not stored.
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

// seen records the certificates that replicas served.
type seen struct {
	mu                  sync.Mutex
	authorities, leaves map[string]bool
	// left is the shortest remaining lifetime of a leaf when a replica had replaced it.
	left time.Duration
}

// lookOn checks the certificates of each replica until the returned function is called.
func (w *world) lookOn(ctx context.Context) func() *seen {
	s := &seen{authorities: map[string]bool{}, leaves: map[string]bool{}, left: w.lives.Leaf}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, address := range w.behind {
		running.Go(func() { s.follow(ctx, address) })
	}
	return func() *seen {
		cancel()
		running.Wait()
		return s
	}
}

// follow checks the certificates of one replica.
func (s *seen) follow(ctx context.Context, address string) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the certificate is only read, not trusted
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var before *x509.Certificate
	for {
		if connection, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			now := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
			connection.Close()
			s.note(before, now)
			before = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *seen) note(before, now *x509.Certificate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorities[now.Issuer.CommonName], s.leaves[now.Subject.CommonName] = true, true
	if before != nil && !before.Equal(now) {
		s.left = min(s.left, time.Until(before.NotAfter))
	}
}

// write prints the table.
func (w *world) write(a *answers, s *seen) error {
	if len(a.took) == 0 {
		return errors.New("nothing was asked")
	}
	slices.Sort(a.took)
	at := func(part float64) string {
		return fmt.Sprintf("%.1f ms", a.took[int(part*float64(len(a.took)-1))].Seconds()*1000)
	}
	met, failed := report.Met, 0
	for text, times := range a.failed {
		met, failed = report.Missed, failed+times
		fmt.Fprintf(os.Stderr, "failed %d times: %s\n", times, text)
	}
	return report.Write(os.Stdout, "–", []report.Figure{
		{Name: "admission requests", Operon: fmt.Sprintf("%d, %.0f /s", perCreation*len(a.took), perCreation*float64(len(a.took))/w.during.Seconds()), Met: report.None},
		{Name: "CAs and leaves that were served", Operon: fmt.Sprintf("%d and %d", len(s.authorities), len(s.leaves)), Met: report.None},
		{Name: "least that a leaf had left when the last replica replaced it", Operon: fmt.Sprintf("%.1f s of %.0f s", s.left.Seconds(), (w.lives.Leaf / 3).Seconds()), Met: report.None},
		{Name: "creations that failed", Operon: fmt.Sprint(failed), Goal: "0", Met: met},
		{Name: "a creation through both webhooks, median", Operon: at(0.5), Met: report.None},
		{Name: "… p99", Operon: at(0.99), Met: report.None},
	})
}
