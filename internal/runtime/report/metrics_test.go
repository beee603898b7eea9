package report_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// The number of metric series does not depend on the number of objects.
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := testaid.FreeAddress(t)
	w.StartMain(nil, "--health-probe-bind-address=0", "--metrics-bind-address="+address)
	live := func(name string) *boxtest.Box {
		b := w.Box(name, map[string]string{"a": "1"})
		w.IsReady(b)
		child := boxtest.ConfigMap(name, nil)
		child.Namespace = w.Namespace
		w.Change(child, func() { child.Data["a"] = "2" })
		w.Holds(child, map[string]string{"a": "1"})
		return b
	}
	w.IsReady(w.Box("start", map[string]string{"a": "1"}))
	first := live("first")
	w.measures(address, `operon_objects{kind="Box",ready="True"} 2`, `operon_drift_repaired_total{kind="ConfigMap"} 1`,
		`operon_writes_total{kind="ConfigMap",verb="create"} 2`, `operon_causes_total{cause="created",kind="Box"}`, // one or two: the first Box may be older than the watch
		`operon_reconciles_total{kind="Box",outcome="done"}`, `operon_watches 1`,
		`operon_step_duration_seconds_count{kind="Box",step="compose"}`)
	w.Must(w.Client.Delete(t.Context(), first))
	w.measures(address, `operon_objects{kind="Box",ready="True"} 1`, `operon_reconciles_total{kind="Box",outcome="gone"}`)
	before := series(t, address)
	const many = 25
	for i := range many {
		live(fmt.Sprintf("more-%d", i))
	}
	w.measures(address, fmt.Sprintf(`operon_objects{kind="Box",ready="True"} %d`, many+1))
	after := series(t, address)
	// A reconcile that combines several causes may be the first to have one of them.
	for name := range after {
		if !before[name] && !strings.HasPrefix(name, "operon_causes_total") {
			t.Errorf("%s came with more objects", name)
		}
		if strings.Contains(name, "more-") || strings.Contains(name, w.Namespace) {
			t.Errorf("%s names an object", name)
		}
	}
	w.Must(w.Client.DeleteAllOf(t.Context(), &boxtest.Box{}, client.InNamespace(w.Namespace)))
	w.measures(address, `operon_objects{kind="Box",ready="True"} 0`)
}

// With secure serving, metrics are encrypted and require permissions.
func TestSecureMetrics(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	address := testaid.FreeAddress(t)
	w.StartMain(nil, "--health-probe-bind-address=0", "--metrics-secure", "--metrics-bind-address="+address)
	encrypted := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate is self-signed
	w.Eventually("an answer to nobody", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			return err
		}
		response, err := encrypted.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			return fmt.Errorf("it is %s", response.Status)
		}
		return nil
	})
	if text, err := scrape(address); err == nil && strings.Contains(text, "operon_") {
		t.Error("they are readable without encryption")
	}
}

// measures waits until the metrics contain all lines.
func (w *fixture) measures(address string, lines ...string) {
	w.Helper()
	for _, line := range lines {
		w.Eventually("the metric "+line, func(context.Context) error {
			text, err := scrape(address)
			if err != nil || strings.Contains("\n"+text, "\n"+line) {
				return err
			}
			return fmt.Errorf("there are\n%s", text)
		})
	}
}

// series returns the names and labels of Operon's own metrics.
func series(t *testing.T, address string) map[string]bool {
	t.Helper()
	text, err := scrape(address)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		found[line[:strings.LastIndexByte(line, ' ')]] = true
	}
	if len(found) < 20 {
		t.Fatalf("only %d series", len(found))
	}
	return found
}

// scrape reads Operon's own metrics.
func scrape(address string) (string, error) {
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	var own strings.Builder
	for line := range strings.Lines(string(all)) {
		if strings.HasPrefix(line, "operon_") {
			own.WriteString(line)
		}
	}
	return own.String(), err
}
