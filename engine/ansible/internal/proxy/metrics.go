package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// metrics are the metrics that roles define with the module osdk_metric.
type metrics struct {
	mu   sync.Mutex
	kind map[string]string
	all  map[string]prometheus.Collector
}

func newMetrics() *metrics {
	return &metrics{kind: map[string]string{}, all: map[string]prometheus.Collector{}}
}

// change is a request of the module osdk_metric: the name of a metric, and one of its types with one operation.
type change struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Counter     map[string]any `json:"counter"`
	Gauge       map[string]any `json:"gauge"`
	Histogram   map[string]any `json:"histogram"`
	Summary     map[string]any `json:"summary"`
}

func (m *metrics) serve(w http.ResponseWriter, r *http.Request) {
	var c change
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&c)
	if err == nil {
		err = m.apply(c)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": err.Error()}) // the client has gone
		return
	}
	_, _ = w.Write([]byte("{}")) // the client has gone
}

// apply changes a metric. It is registered with the first change.
func (m *metrics) apply(c change) error {
	given := map[string]map[string]any{"counter": c.Counter, "gauge": c.Gauge, "histogram": c.Histogram, "summary": c.Summary}
	maps.DeleteFunc(given, func(_ string, operations map[string]any) bool { return operations == nil })
	if c.Name == "" || len(given) != 1 {
		return errors.New("want a name and one of counter, gauge, histogram and summary")
	}
	kind := slices.Collect(maps.Keys(given))[0]
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.kind[c.Name]; known != "" && known != kind {
		return fmt.Errorf("the metric %s is a %s and cannot become a %s", c.Name, known, kind)
	}
	collector := m.all[c.Name]
	if collector == nil {
		collector = newCollector(kind, c)
		if err := ctrlmetrics.Registry.Register(collector); err != nil {
			return err
		}
		m.all[c.Name], m.kind[c.Name] = collector, kind
	}
	for operation, value := range given[kind] {
		if err := operate(collector, operation, value); err != nil {
			return fmt.Errorf("%s %s: %w", kind, c.Name, err)
		}
	}
	return nil
}

func newCollector(kind string, c change) prometheus.Collector {
	switch kind {
	case "counter":
		return prometheus.NewCounter(prometheus.CounterOpts{Name: c.Name, Help: c.Description})
	case "gauge":
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: c.Name, Help: c.Description})
	case "histogram":
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: c.Name, Help: c.Description})
	}
	return prometheus.NewSummary(prometheus.SummaryOpts{Name: c.Name, Help: c.Description})
}

// operate applies one operation. Operations without a number are switches, which are true or yes.
func operate(collector prometheus.Collector, operation string, value any) error {
	number, isNumber := value.(float64)
	on := value == true || strings.EqualFold(fmt.Sprint(value), "yes") || strings.EqualFold(fmt.Sprint(value), "true")
	switches, numbers := map[string]func(){}, map[string]func(float64){}
	switch c := collector.(type) {
	case prometheus.Gauge:
		switches = map[string]func(){"increment": c.Inc, "decrement": c.Dec, "set_to_current_time": c.SetToCurrentTime}
		numbers = map[string]func(float64){"set": c.Set, "add": c.Add, "subtract": c.Sub}
	case prometheus.Counter:
		switches, numbers = map[string]func(){"increment": c.Inc}, map[string]func(float64){"add": c.Add}
	case prometheus.Observer:
		numbers = map[string]func(float64){"observe": c.Observe}
	}
	if do := switches[operation]; do != nil {
		if on {
			do()
		}
		return nil
	}
	do := numbers[operation]
	switch {
	case do == nil:
		known := slices.Sorted(maps.Keys(switches))
		known = append(known, slices.Sorted(maps.Keys(numbers))...)
		return fmt.Errorf("unknown operation %s: it has %s", operation, strings.Join(known, ", "))
	case !isNumber:
		return fmt.Errorf("%s: %v is not a number", operation, value)
	case number < 0 && operation == "add":
		if _, gauge := collector.(prometheus.Gauge); !gauge {
			return fmt.Errorf("add: a counter cannot decrease by %v", -number)
		}
	}
	do(number)
	return nil
}
