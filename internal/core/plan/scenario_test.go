package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// story is the upper half of a file. Objects are written as they are, except that
// "ours: true" stands for the owner's label, which we applied ("ours: copied": not), "applied: same" for the hash of the desired
// object of that name and for managedFields in which we own all of it. What others own
// there, and what "lost" lists, is taken from that, as the API server does it.
type story struct {
	Why        string              `json:"why"`
	Known      []string            `json:"known"`
	After      map[string][]string `json:"after"`
	Unready    map[string]string   `json:"unready"`
	Adopt      []string            `json:"adopt"`
	Replace    []string            `json:"replace"`
	Immutable  map[string]string   `json:"immutable"`
	Incomplete bool                `json:"incomplete"`
	Dismantle  bool                `json:"dismantle"`
	Orphans    bool                `json:"orphans"`
	Namespace  string              `json:"namespace"`
	Desired    []map[string]any    `json:"desired"`
	Live       []map[string]any    `json:"live"`
}

const owner = "owner-uid"

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 20, play)
}

func play(t *testing.T, given string) string {
	t.Helper()
	var s story
	if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
		t.Fatal(err)
	}
	in := plan.Input{Owner: owner, Manager: "us", Live: map[plan.ID]*plan.Live{}, Known: map[plan.ID]bool{}}
	composed := map[plan.ID]*unstructured.Unstructured{}
	for _, object := range s.Desired {
		child := &unstructured.Unstructured{Object: object}
		hash, err := plan.Hash(child)
		if err != nil {
			t.Fatal(err)
		}
		mark(child, hash)
		composed[plan.Of(child)] = child
		in.Known[plan.Of(child)] = slices.Contains(s.Known, child.GetName())
		in.Desired = append(in.Desired, child)
	}
	for _, object := range s.Live {
		addLive(t, &in, object, composed)
	}
	return print(s.decide(t, in))
}

// decide makes the plan. Children are identified by name only.
func (s story) decide(t *testing.T, in plan.Input) []plan.Action {
	t.Helper()
	if s.Dismantle {
		in.Namespace = s.Namespace
		in.Orphans = s.Orphans || in.Orphaned()
		return plan.Dismantle(in)
	}
	in.Incomplete = s.Incomplete
	in.Options, in.Unready = map[plan.ID]plan.Options{}, map[plan.ID]string{}
	ids := map[string]plan.ID{}
	for _, child := range in.Desired {
		ids[child.GetName()] = plan.Of(child)
	}
	for name, id := range ids {
		in.Options[id] = s.options(name, ids)
		if why := s.Unready[name]; why != "" {
			in.Unready[id] = why
		}
	}
	var err error
	if in.Desired, err = plan.Order(in.Desired, in.Options); err != nil {
		return []plan.Action{{Verb: "error", Desired: &unstructured.Unstructured{}, Why: err.Error()}}
	}
	actions := plan.Make(in)
	for i, action := range actions {
		if fields := s.Immutable[action.ID().Name]; fields != "" {
			actions[i] = plan.Refused(action, fields)
		}
	}
	return actions
}

func (s story) options(name string, ids map[string]plan.ID) plan.Options {
	var options plan.Options
	for _, before := range s.After[name] {
		id, ok := ids[before]
		if !ok {
			id = plan.ID{GroupKind: schema.GroupKind{Kind: "Unknown"}, Name: before}
		}
		options.After = append(options.After, id)
	}
	if slices.Contains(s.Adopt, name) {
		options.Policy |= plan.MayAdopt
	}
	if slices.Contains(s.Replace, name) {
		options.Policy |= plan.MayReplace
	}
	return options
}

func addLive(t *testing.T, in *plan.Input, object map[string]any, composed map[plan.ID]*unstructured.Unstructured) {
	t.Helper()
	ours, applied, lost := object["ours"] != nil, object["applied"], object["lost"]
	copied := object["ours"] == "copied"
	for _, key := range []string{"ours", "applied", "lost"} {
		delete(object, key)
	}
	live := &unstructured.Unstructured{Object: object}
	if ours {
		mark(live, "older")
		if applied != "same" && !copied {
			own(t, live, live, nil)
		}
	}
	if applied == "same" {
		desired := composed[plan.Of(live)]
		mark(live, desired.GetAnnotations()[plan.HashAnnotation])
		own(t, live, desired, lost)
	}
	held := plan.LiveOf(live.GroupVersionKind(), live, in.Manager)
	in.Live[held.ID()] = held
	if ours {
		in.Owned = append(in.Owned, held)
	}
}

func mark(o *unstructured.Unstructured, hash string) {
	with := func(m map[string]string, key, value string) map[string]string {
		if m == nil {
			m = map[string]string{}
		}
		m[key] = value
		return m
	}
	o.SetLabels(with(o.GetLabels(), plan.OwnerLabel, owner))
	o.SetAnnotations(with(o.GetAnnotations(), plan.HashAnnotation, hash))
}

func print(actions []plan.Action) string {
	var b strings.Builder
	for _, action := range actions {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(fmt.Sprintf("%-8s %s: %s", action.Verb, action.ID(), action.Why)))
	}
	return b.String()
}
