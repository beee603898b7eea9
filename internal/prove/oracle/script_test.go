package oracle_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/oracle"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// script is a parsed scenario. A scenario consists of lines of words:
//
//	do create apply Box/a Secret/b     a step of the workload; then: same STEP, fresh, refused, bystander
//	do drift drift Deployment/a        others: delete, fail, heal
//	history Box status.attempts        a field that the kind's definition declares as history
//	map Box spec.labels                a field that is a map by the kind's schema
//	accept MESSAGE                     the message of a finding that is accepted
//
//	trace reference                    a run; runs named reference are read twice, in two namespaces
//	trace fresh STEP                   the run of a step in its own namespace
//	trace idle                         a run without custom resources
//	trace faulty kill effect           a run with a fault: its kind and moment
//	step create                        then: not silent, refused
//	object Box/a user {…}              an object, and the owner of these fields: user, operator, kubernetes
//	gone Box/a                         an object is deleted
//	create configmaps/a                a request of the operator; then: unchanged, 403, 422, stale, fault, ×N, in NAMESPACE
//	exit 1                             the operator exits; or: exit panic MESSAGE; exit asked; exit 1 early;
//	                                   exit 1 port; exit 1 certificate; exit 1 usage
//	event Box/a Warning Reason ×N      events
//	wait 5s                            time passes
//
// NS is the namespace's name, and UID-1 the UID of the first object. RANDOM and TIME are different in each run. The JSON of an object may contain
// owner: Kind/name, generateName, deleting, generation and finalizers beside its fields.
type script struct {
	workload   workload.Workload
	references []runlog.Trace
	fresh      map[string]runlog.Trace
	idle       *runlog.Trace
	history    normalize.History
	maps       normalize.Maps
	accepted   []string
	runs       []run
}

// known returns the runs without faults.
func (s script) known() oracle.Runs {
	return oracle.Runs{
		Traces: s.references, Fresh: s.fresh, History: s.history, Maps: s.maps, Idle: s.idle,
		Accepted: func(f finding.Finding) bool { return slices.Contains(s.accepted, f.Message) },
	}
}

type run struct {
	runlog.Trace
	faults []fault.Fault
}

func parsed(t *testing.T, text string) script {
	t.Helper()
	s := script{workload: workload.Workload{Name: "test"}, fresh: map[string]runlog.Trace{}}
	blocks := strings.Split("\n"+text, "\ntrace ")
	for _, line := range lines(blocks[0]) {
		words := strings.Fields(line)
		switch words[0] {
		case "history":
			s.history = historyOf(t, words[1], words[2])
			continue
		case "map":
			s.maps = mapsOf(t, words[1], words[2])
			continue
		case "accept":
			s.accepted = append(s.accepted, strings.TrimPrefix(line, "accept "))
			continue
		}
		s.do(words)
	}
	for _, block := range blocks[1:] {
		head, body, _ := strings.Cut(block, "\n")
		words := strings.Fields(head)
		switch words[0] {
		case "reference":
			for range 2 {
				s.references = append(s.references, s.trace(t, body, 1+len(s.references)))
				if len(words) > 1 {
					break // trace reference once
				}
			}
		case "fresh":
			s.fresh[words[1]] = s.trace(t, body, 9)
		case "idle":
			idle := s.trace(t, body, 8)
			s.idle = &idle
		default:
			one := run{Trace: s.trace(t, body, 3)}
			if len(words) > 1 {
				f := fault.Fault{Kind: fault.Kind(words[1])}
				if len(words) > 2 {
					f.Moment = fault.Moment(words[2])
				}
				one.faults, one.Struck = []fault.Fault{f}, []fault.Fault{f}
			}
			s.runs = append(s.runs, one)
		}
	}
	return s
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

func (s *script) do(words []string) {
	step := workload.Step{Name: words[1]}
	for i, word := range words[3:] {
		kind, name, named := strings.Cut(word, "/")
		switch {
		case word == "fresh":
			step.Fresh = true
		case word == "refused":
			step.Refused = true
		case word == "same":
			step.Same = words[3+i+1]
		case named && words[2] == "apply":
			object := newObject(kind, name)
			if slices.Contains(words, "bystander") {
				object.SetAnnotations(map[string]string{"prove.operon.dev/bystander": "x"})
			}
			step.Apply = append(step.Apply, object)
		case named && words[2] == "delete":
			step.Delete = append(step.Delete, workload.Ref{APIVersion: kinds[kind][0], Kind: kind, Name: name})
		case named && words[2] == "drift":
			step.Drift = &workload.Drift{Of: workload.Ref{APIVersion: kinds[kind][0], Kind: kind, Name: name}}
		}
	}
	switch words[2] {
	case "fail":
		step.Fail = &workload.Failure{How: "image-pull"}
	case "heal":
		step.Heal = true
	}
	s.workload.Steps = append(s.workload.Steps, step)
}

var kinds = map[string][2]string{
	"Box": {"example.com/v1", "boxes"}, "Crate": {"example.com/v1", "crates"}, "ConfigMap": {"v1", "configmaps"}, "Secret": {"v1", "secrets"},
	"Deployment": {"apps/v1", "deployments"}, "StatefulSet": {"apps/v1", "statefulsets"}, "ReplicaSet": {"apps/v1", "replicasets"},
	"Pod": {"v1", "pods"}, "Service": {"v1", "services"}, "PersistentVolumeClaim": {"v1", "persistentvolumeclaims"},
	"Job": {"batch/v1", "jobs"}, "Node": {"v1", "nodes"},
}

func newObject(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(kinds[kind][0])
	object.SetKind(kind)
	object.SetName(name)
	return object
}

// teller builds a trace from a scenario.
type teller struct {
	t     *testing.T
	n     int // the number in the name of the world
	trace runlog.Trace
	now   time.Time
	uid   int
	there map[string]*unstructured.Unstructured
}

// uidOf returns the UID of the nth object of a run.
func uidOf(run, nth int) string { return fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", run, nth) }

func (s *script) trace(t *testing.T, text string, n int) runlog.Trace {
	t.Helper()
	w := &teller{t: t, n: n, there: map[string]*unstructured.Unstructured{}}
	w.trace.Namespace = fmt.Sprintf("world-%d", n)
	w.now = time.Unix(int64(1_000_000*n), 0)
	w.trace.Began, w.trace.Started = w.now, w.now
	text = strings.NewReplacer("NS", w.trace.Namespace, "RANDOM", strconv.Itoa(7919*n), "TIME", w.now.UTC().Format(time.RFC3339), "UID-1", uidOf(n, 1)).Replace(text)
	for _, line := range lines(text) {
		w.now = w.now.Add(10 * time.Millisecond)
		w.line(strings.Fields(line), line)
	}
	w.end()
	return w.trace
}

func (w *teller) line(words []string, line string) {
	last := len(w.trace.Steps) - 1
	has := func(word string) bool { return slices.Contains(words, word) }
	switch words[0] {
	case "step":
		w.end()
		step := runlog.Step{Name: words[1], At: w.now, Silent: !has("not")}
		if has("refused") {
			step.Refused = "it is invalid"
		}
		if has("not") {
			step.Why = "still 17 changes"
		}
		w.trace.Steps = append(w.trace.Steps, step)
	case "object":
		w.object(words[1], words[2], strings.SplitN(line, " ", 4)[3])
	case "gone":
		w.change(w.there[words[1]], "DELETED")
		delete(w.there, words[1])
	case "exit":
		w.exit(words)
	case "beside":
		w.trace.Beside = words[1:]
	case "rhythm":
		w.trace.Rhythm = append(w.trace.Rhythm, requestlog.Beat{Verb: words[1], Group: "example.com", Resource: words[2]})
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			w.t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "event":
		for i := range times(words) {
			w.trace.Steps[last].Events = append(w.trace.Steps[last].Events, runlog.Event{
				Of: words[1], Type: words[2], Reason: words[3], Note: fmt.Sprint("text ", i), Count: 1, By: "operator",
			})
		}
	default:
		for range times(words) {
			w.request(words)
		}
	}
}

// times returns N of a word ×N, or 1 if there is no such word.
func times(words []string) int {
	for _, word := range words {
		if text, ok := strings.CutPrefix(word, "×"); ok {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 1
}

// end ends a step.
func (w *teller) end() {
	if len(w.trace.Steps) == 0 {
		return
	}
	step := &w.trace.Steps[len(w.trace.Steps)-1]
	step.Took = w.now.Sub(step.At)
	step.Last, step.LastChange = int64(len(w.trace.Requests)), len(w.trace.Changes)
	step.State = nil
	for _, object := range w.there {
		step.State = append(step.State, object.DeepCopy())
	}
	slices.SortFunc(step.State, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	w.now = w.now.Add(time.Second)
}

func (w *teller) request(words []string) {
	what, name, _ := strings.Cut(words[1], "/")
	what, subresource, _ := strings.Cut(what, ".")
	r := requestlog.Request{
		Seq: int64(len(w.trace.Requests) + 1), At: w.now, Verb: words[0], Version: "v1", Resource: what, Subresource: subresource,
		Namespace: w.trace.Namespace, Name: name, Status: 200, Served: 200, Manager: "box-operator",
	}
	for _, of := range kinds {
		if of[1] == what && strings.Contains(of[0], "/") {
			r.Group, _, _ = strings.Cut(of[0], "/")
		}
	}
	if what == "leases" {
		r.Group = "coordination.k8s.io"
	}
	if r.IsWrite() {
		r.Effect = requestlog.Changed
	}
	if r.Verb == "create" {
		r.Status, r.Served = 201, 201
	}
	for i, word := range words {
		switch word {
		case "unchanged":
			r.Effect = requestlog.Unchanged
		case "403", "422":
			r.Status, _ = strconv.Atoi(word)
			r.Served, r.Effect = r.Status, requestlog.Unchanged
		case "stale":
			r.Stale = true
		case "fault":
			r.Fault, r.Status = strings.Join(words[i+1:], " "), 0
		case "lost":
			r.Status, r.Served, r.Effect, r.Error = 0, 0, requestlog.Unknown, "context canceled"
		case "late":
			r.Took = 5 * time.Second
		case "in":
			r.Namespace = words[i+1]
		case "cluster":
			r.Namespace = ""
		}
	}
	w.trace.Requests = append(w.trace.Requests, r)
}

// object adds or changes an object. The named managers own its fields in JSON.
func (w *teller) object(id, by, text string) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	fields = jsonNumbers(fields).(map[string]any)
	object, what := w.there[id], "MODIFIED"
	if object == nil {
		what = "ADDED"
		kind, name, _ := strings.Cut(id, "/")
		object = newObject(kind, name)
		object.SetNamespace(w.trace.Namespace)
		w.uid++
		object.SetUID(types.UID(uidOf(w.n, w.uid)))
		object.SetGeneration(1)
		object.SetCreationTimestamp(metav1.NewTime(w.now))
		w.there[id] = object
	}
	w.special(object, fields)
	merge(object.Object, fields)
	w.own(object, by, fields)
	w.change(object, what)
}

// special removes the keys that are not fields of the object, such as owner, and applies them to the object.
func (w *teller) special(object *unstructured.Unstructured, fields map[string]any) {
	if owner, ok := fields["owner"].(string); ok {
		kind, name, _ := strings.Cut(owner, "/")
		controls := true
		uid := types.UID("unknown")
		if w.there[owner] != nil {
			uid = w.there[owner].GetUID()
		}
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: kinds[kind][0], Kind: kind, Name: name, UID: uid, Controller: &controls}})
	}
	if prefix, ok := fields["generateName"].(string); ok {
		object.SetGenerateName(prefix)
	}
	if generation, ok := fields["generation"].(int64); ok {
		object.SetGeneration(generation)
	}
	if fields["deleting"] == true {
		now := metav1.NewTime(w.now)
		object.SetDeletionTimestamp(&now)
	}
	for _, key := range []string{"owner", "generateName", "generation", "deleting"} {
		delete(fields, key)
	}
}

// merge overlays fields on others.
func merge(into, fields map[string]any) {
	for key, v := range fields {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		if isMap && wasMap {
			merge(old, inner)
			continue
		}
		into[key] = v
	}
}

// own records the owners of fields.
func (w *teller) own(object *unstructured.Unstructured, by string, fields map[string]any) {
	manager := map[string]string{"user": "operon-prove", "operator": "box-operator", "kubernetes": "kube-controller-manager"}[by]
	if manager == "" {
		w.t.Fatalf("who is %q?", by)
	}
	set := &fieldpath.Set{}
	insert(set, nil, fields)
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		old := &fieldpath.Set{}
		if err := old.FromJSON(strings.NewReader(string(entry.FieldsV1.GetRawBytes()))); err != nil {
			w.t.Fatal(err)
		}
		if entry.Manager == manager {
			set = set.Union(old)
			continue
		}
		entries = append(entries, entry)
	}
	data, err := set.ToJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	raw := &metav1.FieldsV1{}
	raw.SetRawBytes(data)
	object.SetManagedFields(append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", FieldsType: "FieldsV1", FieldsV1: raw}))
}

func insert(set *fieldpath.Set, path fieldpath.Path, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			insert(set, append(slices.Clone(path), fieldpath.PathElement{FieldName: &key}), inner)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for _, element := range v {
			fields, ok := element.(map[string]any)
			for _, key := range []string{"name", "type"} {
				if name, has := fields[key].(string); ok && has {
					by := value.FieldList{{Name: key, Value: value.NewValueInterface(name)}}
					insert(set, append(slices.Clone(path), fieldpath.PathElement{Key: &by}), element)
				}
			}
		}
		if len(v) > 0 {
			if _, ok := v[0].(map[string]any); ok {
				return
			}
		}
	}
	if len(path) > 0 {
		set.Insert(path)
	}
}

func jsonNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = jsonNumbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = jsonNumbers(inner)
		}
	case float64:
		return int64(v)
	}
	return v
}

func (w *teller) change(object *unstructured.Unstructured, what string) {
	owner := ""
	if owners := object.GetOwnerReferences(); len(owners) > 0 {
		owner = owners[0].Kind + "/" + owners[0].Name
	}
	w.trace.Changes = append(w.trace.Changes, runlog.Change{
		At: w.now, Type: what, APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Resource: kinds[object.GetKind()][1],
		Namespace: object.GetNamespace(), Name: object.GetName(), GenerateName: object.GetGenerateName(), UID: string(object.GetUID()),
		Version: strconv.Itoa(len(w.trace.Changes) + 1), Generation: object.GetGeneration(), Deleting: object.GetDeletionTimestamp() != nil, Owner: owner,
	})
}
