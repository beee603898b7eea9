package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Workload is a series of steps in one namespace.
type Workload struct {
	// Name tells it from others: "sample", "size: 3 → 5 → 3".
	Name string `json:"name"`
	// Steps are executed one at a time.
	Steps []Step `json:"steps"`
}

// Step is one change, after which the operator is left alone until it is silent. A step does one
// thing: exactly one of Apply, Delete, Fail, Heal and Drift is set.
type Step struct {
	// Name tells it from the others of its workload: "create", "spec.size: 5".
	Name string `json:"name"`
	// Apply are objects that become as they are written here: created, or replaced except for what the
	// operator and the API server wrote there. Those without a namespace, of kinds that have one,
	// are in the run's own.
	Apply []*unstructured.Unstructured `json:"apply,omitempty"`
	// Delete are objects that are deleted, and waited for until they are gone.
	Delete []Ref `json:"delete,omitempty"`
	// Fail lets pods of the operator's children fail.
	Fail *Failure `json:"fail,omitempty"`
	// Heal ends what an earlier Fail began.
	Heal bool `json:"heal,omitempty"`
	// Drift changes or deletes a child behind the operator's back.
	Drift *Drift `json:"drift,omitempty"`
	// Refused: the API server is expected to turn Apply down, and the state is to stay as it was.
	Refused bool `json:"refused,omitempty"`
	// Same names an earlier step whose state this one has to lead back to.
	Same string `json:"same,omitempty"`
	// Fresh: the state has to be what the objects of this step lead to in an empty namespace.
	Fresh bool `json:"fresh,omitempty"`
	// Guess: what is applied is allowed by its schema and may still make no sense to the operator.
	// Fresh then has to hold only where new objects of that content become as ready as those of the
	// first step.
	Guess bool `json:"guess,omitempty"`
	// Unmet is what the objects of this step refer to and is not there: the state may be anything,
	// but the status has to say so, and the next step leads back.
	Unmet *Ref `json:"unmet,omitempty"`
}

// Ref names an object. One without a namespace, of a kind that has one, is in the run's own.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Failure is how children fail, as the simulated node knows it: see docs/simulated-nodes.md.
type Failure struct {
	// How is one of [Failures].
	How string `json:"how"`
	// Pods is how many of those that there are fail, all where it is 0.
	Pods int `json:"pods,omitempty"`
}

// Drift is what somebody does to an object of the operator's.
type Drift struct {
	// Of is the object.
	Of Ref `json:"of"`
	// Patch is a JSON merge patch; where it is empty, the object is deleted.
	Patch map[string]any `json:"patch,omitempty"`
}
