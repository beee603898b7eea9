package runlog

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Trace is one run.
type Trace struct {
	// Namespace is the run's own. No other run has one of that name.
	Namespace string `json:"namespace"`
	// Began is when making its namespace did, and what it has before the operator starts: no time that
	// the run wrote is before.
	Began time.Time `json:"began"`
	// Started and Took are of the whole run, making and removing its namespace left out.
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Steps are those of the workload that were begun, in order.
	Steps []Step `json:"steps"`
	// Requests are the operator's, in order, those of leader election and of discovery among them.
	Requests []requestlog.Request `json:"requests"`
	// Dropped is how many more requests there were, before those.
	Dropped int64 `json:"dropped,omitempty"`
	// Changes are what happened to objects of the namespace, and to others that the operator wrote,
	// in order, whoever did it.
	Changes []Change `json:"changes"`
	// Exits are the ends of the operator, those on purpose among them.
	Exits []Exit `json:"exits,omitempty"`
	// Struck are the faults that happened, Pending those that did not.
	Struck  []fault.Fault `json:"struck,omitempty"`
	Pending []fault.Fault `json:"pending,omitempty"`
	// Beside is set where the operator wrote something that did not pass the proxy.
	Beside []string `json:"beside,omitempty"`
}

// Step is what came of one step of the workload.
type Step struct {
	// Name is the step's in the workload.
	Name string        `json:"name"`
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Refused is the API server's message where it turned the step down.
	Refused string `json:"refused,omitempty"`
	// Silent: the operator became silent, and nothing changed any more. Where it is false, Why
	// says what went on.
	Silent bool   `json:"silent"`
	Why    string `json:"why,omitempty"`
	// Last is the sequence number of the last request that came before the step's end, and
	// LastChange the number of changes.
	Last       int64 `json:"last"`
	LastChange int   `json:"lastChange"`
	// State are the objects at the step's end: those of the namespace that anybody but Kubernetes
	// itself puts there (no events, leases, endpoints), and others that the operator wrote.
	State []*unstructured.Unstructured `json:"state"`
	// Events are the events of the namespace's objects, at the step's end.
	Events []Event `json:"events,omitempty"`
}

// Event is a Kubernetes event, in short.
type Event struct {
	// Of is the object, as kind/name.
	Of string `json:"of"`
	// Type is Normal or Warning.
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Note   string `json:"note"`
	Count  int    `json:"count"`
	// By is who reported it.
	By string `json:"by"`
}

// Change is one event of an object's history.
type Change struct {
	At time.Time `json:"at"`
	// Type is ADDED, MODIFIED or DELETED.
	Type       string `json:"type"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Resource is the plural name.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// GenerateName is set where the API server made the name.
	GenerateName string `json:"generateName,omitempty"`
	UID          string `json:"uid"`
	// Version is the resource version after it. A request whose After is the same made it.
	Version string `json:"version"`
	// Generation counts changes of the spec, 0 where the kind does not count them.
	Generation int64 `json:"generation,omitempty"`
	// Deleting: the deletion was asked for, and waits for finalizers.
	Deleting bool `json:"deleting,omitempty"`
	// Manager is the field manager of the newest entry in managedFields.
	Manager string `json:"manager,omitempty"`
	// Owner is the controller of the object, as kind/name, or its first owner.
	Owner string `json:"owner,omitempty"`
	// Labels are the object's.
	Labels map[string]string `json:"-"`
}

// Exit is the end of an operator's process, or of a manager in a test.
type Exit struct {
	At time.Time `json:"at"`
	// Step is the workload's step in which it was.
	Step string `json:"step"`
	// After is how long it ran.
	After time.Duration `json:"after"`
	// Asked: it was killed or stopped on purpose.
	Asked bool `json:"asked,omitempty"`
	// Code is the exit code, -1 where a signal ended it. Signal names that.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Panic is the message of a panic, also of one that a framework caught, with where it was.
	Panic string `json:"panic,omitempty"`
	// Log are the last lines of what it printed.
	Log []string `json:"log,omitempty"`
}
