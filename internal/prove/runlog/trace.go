package runlog

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Trace is the record of one run.
type Trace struct {
	// Namespace is the run's own namespace. No other run has a namespace with that name.
	Namespace string `json:"namespace"`
	// Began is when the creation of the namespace and of its initial objects began. All times that
	// the run wrote are later.
	Began time.Time `json:"began"`
	// Started and Took are the start and the duration of the run, without creating and removing its namespace.
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Steps contains the steps of the workload that were begun, in order.
	Steps []Step `json:"steps"`
	// Requests contains the operator's requests, in order, including leader election and discovery.
	Requests []requestlog.Request `json:"requests"`
	// Dropped is the number of earlier requests that are not in Requests.
	Dropped int64 `json:"dropped,omitempty"`
	// Changes contains the changes of all objects in the namespace, and of other objects that the operator wrote,
	// in order, by any client.
	Changes []Change `json:"changes"`
	// Exits contains the exits of the operator, including intended ones.
	Exits []Exit `json:"exits,omitempty"`
	// Struck contains the faults that were injected. Pending contains the faults that were not.
	Struck  []fault.Fault `json:"struck,omitempty"`
	Pending []fault.Fault `json:"pending,omitempty"`
	// Rhythm is what the operator repeats without end, as far as the run learned it.
	Rhythm requestlog.Rhythm `json:"rhythm,omitempty"`
	// Beside names the objects that the operator wrote without the proxy. It is empty if there are none.
	Beside []string `json:"beside,omitempty"`
}

// Step is the result of one step of the workload.
type Step struct {
	// Name is the name of the step in the workload.
	Name string        `json:"name"`
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Refused is the API server's message if it rejected the step.
	Refused string `json:"refused,omitempty"`
	// Silent means that the operator became silent and nothing changed any more. If it is false, Why
	// describes the activity.
	Silent bool   `json:"silent"`
	Why    string `json:"why,omitempty"`
	// Last is the sequence number of the last request before the end of the step.
	// LastChange is the number of changes until then.
	Last       int64 `json:"last"`
	LastChange int   `json:"lastChange"`
	// State contains the objects at the end of the step: the objects in the namespace that clients other than Kubernetes
	// itself create (no events, leases, endpoints), and other objects that the operator wrote.
	State []*unstructured.Unstructured `json:"state"`
	// Events contains the events of the namespace's objects at the end of the step.
	Events []Event `json:"events,omitempty"`
}

// Event is a summary of a Kubernetes event.
type Event struct {
	// Of is the object, as kind/name.
	Of string `json:"of"`
	// Type is Normal or Warning.
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Note   string `json:"note"`
	Count  int    `json:"count"`
	// By is the component that reported it.
	By string `json:"by"`
}

// Change is one change in the history of an object.
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
	// GenerateName is set if the API server generated the name.
	GenerateName string `json:"generateName,omitempty"`
	UID          string `json:"uid"`
	// Version is the resource version after the change. The request with the same value in After made the change.
	Version string `json:"version"`
	// Generation counts changes of the spec. It is 0 if the kind does not have generations.
	Generation int64 `json:"generation,omitempty"`
	// Deleting means that the deletion was requested and waits for finalizers.
	Deleting bool `json:"deleting,omitempty"`
	// Manager is the field manager of the newest entry in managedFields.
	Manager string `json:"manager,omitempty"`
	// Missed means that the change was noticed only when the objects were listed again, after the API server had ended a watch: when it happened and
	// what happened in between is not known.
	Missed bool `json:"-"`
	// Owner is the controller of the object, as kind/name, or its first owner.
	Owner string `json:"owner,omitempty"`
	// Labels contains the labels of the object.
	Labels map[string]string `json:"-"`
}

// Exit is the end of an operator's process, or of a manager in a test.
type Exit struct {
	At time.Time `json:"at"`
	// Step is the step of the workload in which it happened.
	Step string `json:"step"`
	// After is how long the process ran.
	After time.Duration `json:"after"`
	// Slow is how many times slower than usual the cluster was, 1 or more. 0 means that this is not known.
	Slow float64 `json:"slow,omitempty"`
	// Asked means that the operator was killed or stopped on purpose.
	Asked bool `json:"asked,omitempty"`
	// Code is the exit code. It is -1 if a signal ended the process. Signal is the name of that signal.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Panic is the message of a panic, including a panic that a framework recovered, with its location.
	Panic string `json:"panic,omitempty"`
	// Log contains the last lines of the output.
	Log []string `json:"log,omitempty"`
}
