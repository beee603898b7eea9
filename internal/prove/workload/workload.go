package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Workload is a series of steps in one namespace.
type Workload struct {
	// Name distinguishes the workload from others: "sample", "size: 3 → 5 → 3".
	Name string `json:"name"`
	// Steps contains the steps. They are executed one at a time.
	Steps []Step `json:"steps"`
}

// Step is one change. After it, nothing else is done until the operator is silent. A step has one
// action: exactly one of Apply, Delete, Fail, Heal and Drift is set.
type Step struct {
	// Name distinguishes the step from other steps of its workload: "create", "spec.size: 5".
	Name string `json:"name"`
	// Apply contains objects to create, or to replace except for fields that the
	// operator and the API server wrote. Namespaced objects without a namespace
	// are in the run's own namespace.
	Apply []*unstructured.Unstructured `json:"apply,omitempty"`
	// Delete contains objects to delete. The step waits until they no longer exist.
	Delete []Ref `json:"delete,omitempty"`
	// Fail makes pods of the operator's children fail.
	Fail *Failure `json:"fail,omitempty"`
	// Heal ends the failure of an earlier Fail.
	Heal bool `json:"heal,omitempty"`
	// Drift changes or deletes a child as another client.
	Drift *Drift `json:"drift,omitempty"`
	// Refused means that the API server is expected to reject Apply, and that the state must not change.
	Refused bool `json:"refused,omitempty"`
	// Same names an earlier step whose state this one has to lead back to.
	Same string `json:"same,omitempty"`
	// Fresh means that the state has to be the state that the objects of this step lead to in an empty namespace.
	Fresh bool `json:"fresh,omitempty"`
	// Guess means that the schema allows the applied objects, but they may be meaningless for the operator.
	// Then Fresh has to hold only if new objects with that content become as ready as the objects of the
	// first step.
	Guess bool `json:"guess,omitempty"`
	// Unmet is an object that the objects of this step refer to and that does not exist. The state may be anything,
	// but the status has to report this, and the next step leads back.
	Unmet *Ref `json:"unmet,omitempty"`
}

// Ref is a reference to an object. A namespaced object without a namespace is in the run's own namespace.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Failure describes how children fail, in the terms of the simulated node: see docs/simulated-nodes.md.
type Failure struct {
	// How is one of [Failures].
	How string `json:"how"`
	// Pods is the number of existing pods that fail. 0 means all pods.
	Pods int `json:"pods,omitempty"`
}

// Drift is a change or deletion of an object of the operator by another client.
type Drift struct {
	// Of is the object.
	Of Ref `json:"of"`
	// Patch is a JSON merge patch. If it is empty, the object is deleted.
	Patch map[string]any `json:"patch,omitempty"`
}
