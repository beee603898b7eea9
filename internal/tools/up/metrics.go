package up

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reconcileMetric is the counter that every operator built with controller-runtime has.
const reconcileMetric = "controller_runtime_reconcile_total"

// gauge reads the number of reconciles of the operator.
type gauge struct {
	client http.Client

	mu      sync.Mutex
	port    int
	samples []reading
}

type reading struct {
	at    time.Time
	total float64
}

// follow makes the gauge read the metrics of another process, at the given port.
func (g *gauge) follow(port int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.port, g.samples = port, nil
}

// run reads until ctx ends, and calls changed after each change of the count.
func (g *gauge) run(ctx context.Context, changed func()) {
	g.client.Timeout = timing.scrape
	tick := time.NewTicker(timing.scrapeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if g.read(ctx) {
				changed()
			}
		}
	}
}

// read reads once, and reports whether the count changed.
func (g *gauge) read(ctx context.Context) bool {
	g.mu.Lock()
	port := g.port
	g.mu.Unlock()
	if port == 0 {
		return false
	}
	total, err := g.scrape(ctx, port)
	if err != nil {
		return false // not serving yet, or never: then the rate is not shown
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if port != g.port {
		return false
	}
	changed := len(g.samples) == 0 || g.samples[len(g.samples)-1].total != total
	g.samples = append(g.samples, reading{time.Now(), total})
	for len(g.samples) > 2 && time.Since(g.samples[1].at) > timing.rateOver {
		g.samples = g.samples[1:]
	}
	return changed
}

// count returns the number of reconciles since the operator's start, and per second. Both are -1 if the operator does not
// report them.
func (g *gauge) count() (total, perSecond float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.samples) == 0 {
		return -1, -1
	}
	first, last := g.samples[0], g.samples[len(g.samples)-1]
	passed := last.at.Sub(first.at).Seconds()
	if passed == 0 {
		return last.total, 0
	}
	return last.total, (last.total - first.total) / passed
}

func (g *gauge) scrape(ctx context.Context, port int) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return 0, err
	}
	answer, err := g.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics: %s", answer.Status)
	}
	return sum(answer.Body, reconcileMetric)
}

// sum adds the values of a counter for all labels, in Prometheus' text format.
func sum(text io.Reader, metric string) (float64, error) {
	total := 0.0
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, metric+"{") && !strings.HasPrefix(line, metric+" ") {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metrics: %q: %w", line, err)
		}
		total += value
	}
	return total, lines.Err()
}
