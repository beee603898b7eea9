package up

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const exposition = `# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="web",result="error"} 2
controller_runtime_reconcile_total{controller="web",result="success"} 1.5e+01
controller_runtime_reconcile_total_other{controller="web"} 1000
`

func TestSumAddsUpALabelledCounter(t *testing.T) {
	t.Parallel()
	if got, err := sum(strings.NewReader(exposition), reconcileMetric); got != 17 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := sum(strings.NewReader(reconcileMetric+" many\n"), reconcileMetric); err == nil {
		t.Error("no error for what is no number")
	}
}

func TestTheGaugeReadsTheOperatorThatItFollows(t *testing.T) {
	t.Parallel()
	total := 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s{} %d\n", reconcileMetric, total)
	}))
	t.Cleanup(server.Close)
	g := &gauge{}
	if got, rate := g.count(); got != -1 || rate != -1 {
		t.Errorf("nothing is followed: %v, %v", got, rate)
	}
	g.follow(server.Listener.Addr().(*net.TCPAddr).Port)
	if !g.read(t.Context()) {
		t.Error("the first reading is no change")
	}
	if g.read(t.Context()) {
		t.Error("the same reading is a change")
	}
	total = 20
	if !g.read(t.Context()) {
		t.Error("another reading is no change")
	}
	if got, rate := g.count(); got != 20 || rate <= 0 {
		t.Errorf("%v, %v a second", got, rate)
	}
	g.follow(1) // no server listens there
	if got, _ := g.count(); g.read(t.Context()) || got != -1 {
		t.Errorf("another operator: %v", got)
	}
}
