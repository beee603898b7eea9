package explain

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func kindOf(group, resourceName, kind string, names ...string) resource {
	return resource{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resourceName},
		kind:                 kind, names: append(names, strings.ToLower(kind)), namespaced: true,
	}
}

var known = []resource{
	kindOf("", "pods", "Pod", "po"),
	kindOf("apps", "deployments", "Deployment", "deploy"),
	kindOf("cache.example.com", "memcacheds", "Memcached"),
	kindOf("", "events", "Event", "ev"),
	kindOf("events.k8s.io", "events", "Event", "ev"),
	kindOf("a.example.com", "lamps", "Lamp"),
	kindOf("b.example.com", "lamps", "Lamp"),
}

func TestKindsAreFoundByAnyName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"memcached": "Memcached", "Memcached": "Memcached", "memcacheds": "Memcached", "MEMCACHED.cache.example.com": "Memcached",
		"po": "Pod", "deploy.apps": "Deployment", "event.events.k8s.io": "Event",
	} {
		if got, err := pick(known, text); err != nil || got.kind != want {
			t.Errorf("%s is %q, error %v", text, got.kind, err)
		}
	}
	if got, err := pick(known, "ev"); err != nil || got.title() != "Event" {
		t.Errorf("ev is %q, error %v", got.title(), err)
	}
	for text, want := range map[string]string{
		"memcache":          `the cluster has no kind "memcache"; did you mean Memcached.cache.example.com?`,
		"deployement":       "did you mean Deployment.apps?",
		"xyzzy":             "is its CustomResourceDefinition installed?",
		"lamp":              "several groups; name one of Lamp.a.example.com, Lamp.b.example.com",
		"memcached.example": "no kind",
	} {
		if _, err := pick(known, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestAMissingObjectIsLookedForElsewhere(t *testing.T) {
	t.Parallel()
	object := func(namespace, name string) unstructured.Unstructured {
		o := unstructured.Unstructured{Object: map[string]any{}}
		o.SetNamespace(namespace)
		o.SetName(name)
		return o
	}
	all := []unstructured.Unstructured{object("default", "web"), object("default", "database"), object("team", "shop")}
	for name, want := range map[string]string{
		"shop":  "Pod default/shop not found; it exists in namespace team",
		"wep":   "did you mean web?",
		"xyzzy": "did you mean one of web, database?",
	} {
		if err := missing(known[0], Options{Namespace: "default", Name: name}, all); err.Error() == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := missing(known[0], Options{Namespace: "team", Name: "xyzzy"}, all); !strings.HasSuffix(err.Error(), "; did you mean shop?") {
		t.Error(err)
	}
	if err := missing(known[0], Options{Namespace: "empty", Name: "a"}, all); !strings.Contains(err.Error(), "the cluster has no Pod") {
		t.Error(err)
	}
}

// The golden file is also the example output in docs/runtime/why.md.
func TestTextReadsAsAStory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := story().Text(&out); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/story.txt"
	if *rewrite {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, out.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("told is\n%s", out.String())
	}
	page, err := os.ReadFile("../../../docs/runtime/why.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), out.String()) {
		t.Error("docs/runtime/why.md shows another picture")
	}
}

// story returns an object whose child cannot become ready, and which a user scaled manually.
func story() *Answer {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	web := trigger.Object{Kind: "Deployment", Namespace: "default", Name: "example"}
	because := func(kind trigger.Kind, object trigger.Object, note string) trigger.Gathered {
		return trigger.Gathered{Causes: []trigger.Cause{{Kind: kind, Object: object, Note: note}}}
	}
	message := "Deployment example: Available: 2/3"
	return &Answer{
		Now: now, Group: "cache.example.com", Kind: "Memcached", Namespace: "default", Name: "example", Generation: 2, Observed: 2,
		Ready:   &metav1.Condition{Status: metav1.ConditionFalse, Reason: "ChildNotReady", Message: message, LastTransitionTime: metav1.NewTime(ago(41 * time.Second))},
		Trouble: []string{"Deployment example: InProgress: 2/3 ready", "  ReplicaSet example-5695675476: InProgress: 2/3 ready", "    Pod example-5695675476-gvq6t: Failed: ImagePullBackOff"},
		Events: []Event{
			{At: ago(41 * time.Second), Object: "Memcached default/example", Reason: "Repaired", Message: "reverted drift in Deployment example: spec.replicas (changed by kubectl)"},
			{At: ago(12 * time.Second), Object: "Pod default/example-5695675476-gvq6t", Reason: "BackOff", Message: "Back-off pulling image", Count: 3},
		},
		Operator: "memcached-operator",
		Passes: []reconcilelog.Pass{
			{Started: ago(12 * time.Second), Took: 600 * time.Microsecond, Gathered: because(trigger.ChildChanged, web, "its status"), Outcome: "wait", Reason: "ChildNotReady", Repeats: 2},
			{
				Started: ago(41 * time.Second), Took: 9 * time.Millisecond, Gathered: because(trigger.ChildChanged, web, "its spec"), Outcome: "wait", Reason: "ChildNotReady", Writes: 2,
				Steps:   []reconcilelog.Step{{Name: "plan", Took: time.Millisecond}, {Name: "apply", Took: 7 * time.Millisecond}},
				Actions: []reconcilelog.Action{{Verb: "repair", Object: web, Why: "spec.replicas (changed by kubectl)"}},
			},
			{
				Started: ago(5 * time.Minute), Took: 21 * time.Millisecond, Gathered: because(trigger.Created, trigger.Object{}, ""), Outcome: "wait", Reason: "ChildNotReady", Writes: 2,
				Actions: []reconcilelog.Action{{Verb: "create", Object: web}},
			},
		},
	}
}
