package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/operon-framework/operon/engine"
)

// noop is an engine that runs nothing.
type noop struct{}

func (noop) Name() string { return "noop" }

func (noop) Fields() engine.Fields {
	return engine.Fields{Selecting: []string{"script"}, Others: []string{"steps"}, Environment: true}
}

func (noop) Load(*engine.Watch) (engine.Program, error) { return engine.Program{}, nil }

func read(t *testing.T, content string) ([]*engine.Watch, string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "watches.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	watches, err := engine.Read(file, noop{})
	return watches, file, err
}

func TestRead(t *testing.T) {
	t.Parallel()
	watches, file, err := read(t, `---
# a comment
- group: shop.example.com
  version: v1
  kind: Till
  script: run/till.sh
  steps: [{name: one}]
  reconcilePeriod: 5m
  maxConcurrentReconciles: 2
  watchDependentResources: false
  selector:
    matchLabels: {tier: gold}
- version: v1beta1
  kind: Drawer
  script: /opt/drawer.sh
`)
	if err != nil {
		t.Fatal(err)
	}
	till, drawer := watches[0], watches[1]
	if till.Kind.String() != "shop.example.com/v1, Kind=Till" || till.ReconcilePeriod != 5*time.Minute || till.MaxConcurrentReconciles != 2 || till.Engine() != "noop" {
		t.Errorf("read %+v", till)
	}
	if !till.Selector.Matches(labels.Set{"tier": "gold"}) || till.Selector.Matches(labels.Set{"tier": "tin"}) || drawer.Selector != nil {
		t.Errorf("the selectors are %v and %v", till.Selector, drawer.Selector)
	}
	if path, err := till.Path("script"); err != nil || path != filepath.Join(filepath.Dir(file), "run/till.sh") {
		t.Errorf("the path is %s, %v, want one relative to the directory of the file", path, err)
	}
	if path, err := drawer.Path("script"); err != nil || path != "/opt/drawer.sh" {
		t.Errorf("the path is %s, %v", path, err)
	}
	var steps []struct{ Name string }
	if err := till.Decode("steps", &steps); err != nil || len(steps) != 1 || steps[0].Name != "one" {
		t.Errorf("decoded %v, %v", steps, err)
	}
}

// Variables of the environment are replaced in all fields. Values without quotes have the types that YAML gives them.
func TestEnvironment(t *testing.T) {
	t.Setenv("SHOP_GROUP", "shop.example.com")
	t.Setenv("SHOP_PERIOD", "5m")
	t.Setenv("SHOP_SIZE", "3")
	t.Setenv("SHOP_NAME", "best of: 3")
	watches, _, err := read(t, `
- group: ${SHOP_GROUP}
  version: v1
  kind: Till
  reconcilePeriod: $SHOP_PERIOD
  maxConcurrentReconciles: $SHOP_SIZE
  script: run
  steps: {size: $SHOP_SIZE, quoted: "$SHOP_SIZE", $SHOP_SIZE: plain, list: ["${SHOP_NAME}", $SHOP_NAME, "${SHOP_UNSET}", 1]}
`)
	if err != nil {
		t.Fatal(err)
	}
	w := watches[0]
	if w.Kind.Group != "shop.example.com" || w.ReconcilePeriod != 5*time.Minute || w.MaxConcurrentReconciles != 3 {
		t.Errorf("the watch is %+v", w)
	}
	var steps any
	if err := w.Decode("steps", &steps); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(steps)
	if want := `{"$SHOP_SIZE":"plain","list":["best of: 3","best of: 3","${SHOP_UNSET}",1],"quoted":"3","size":3}`; err != nil || string(got) != want {
		t.Errorf("expanded to %s, %v, want %s", got, err, want)
	}
}

func TestReadRejects(t *testing.T) {
	t.Parallel()
	const entry = "- version: v1\n  kind: Till\n  script: till.sh\n"
	for _, test := range []struct{ name, content, want string }{
		{"nothing", "", "1: the file is empty"},
		{"a mapping", "version: v1\n", "1: want a list of entries"},
		{"broken", "- a: [\n", "not valid YAML"},
		{"text", "- Till\n", "1: want an entry with group, version and kind"},
		{"unknown field", entry + "  scrpt: x\n", `4: unknown field "scrpt": the noop engine reads group, version`},
		{"no engine", "- version: v1\n  kind: Till\n  chart: x\n", "1: no engine recognizes the entry, which has the fields chart, kind, version: it needs one of script"},
		{"no kind", "- version: v1\n  script: x\n", "1: version and kind must be set"},
		{"duplicate kind", entry + "\n- version: v2\n  kind: Till\n  script: y\n", "6: Till has an entry already, in line 1"},
		{"duplicate field", entry + "  kind: Drawer\n", "4: the field kind is set twice"},
		{"period", entry + "  reconcilePeriod: often\n", `4: "often" is not a duration such as 5m`},
		{"selector", entry + "  selector: {matchLabel: {a: b}}\n", `4: selector: `},
		{"concurrency", entry + "  maxConcurrentReconciles: -1\n", "4: want 1 or more"},
		{"type", entry + "  maxConcurrentReconciles: many\n", "4: maxConcurrentReconciles: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, file, err := read(t, test.content)
			if err == nil || !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s:%s", err, file, test.want)
			}
		})
	}
}

// Users of the API can make a period no shorter than 10 seconds or what watches.yaml sets.
func TestPeriodOfAnAnnotation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		own        time.Duration
		text, want string
	}{
		{0, "1ns", "10s"}, {0, "1m", "1m0s"}, {0, "0s", "0s"}, {time.Hour, "9s", "10s"}, {time.Hour, "11s", "11s"}, {time.Second, "2s", "2s"}, {time.Second, "1ms", "1s"},
	} {
		if got, err := (&engine.Watch{ReconcilePeriod: test.own}).Period(test.text); err != nil || got.String() != test.want {
			t.Errorf("%s beside %s is %s, %v, want %s", test.text, test.own, got, err, test.want)
		}
	}
	for _, text := range []string{"often", "-1s", "5"} {
		if got, err := (&engine.Watch{}).Period(text); err == nil || !strings.Contains(err.Error(), "is not a duration such as 5m") {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
}
