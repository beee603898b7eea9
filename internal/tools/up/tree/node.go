package tree

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// State describes whether an object is ready.
type State string

// The states.
const (
	Ready       State = "Ready"
	InProgress  State = "InProgress"
	Failed      State = "Failed"
	Terminating State = "Terminating"
	Missing     State = "Missing"
)

// Node is an object, with the objects that it owns.
type Node struct {
	// Object is the current object, without managed fields. A node in state Missing has only the names of the object.
	Object *unstructured.Unstructured
	State  State
	// Message is the reason for the state in one line, or "" if there is none.
	Message string
	// Children are the child objects, ordered by kind and name.
	Children []*Node
}

// Title returns the name of the node: "Deployment web".
func (n *Node) Title() string { return n.Object.GetKind() + " " + n.Object.GetName() }

// Address returns the name of the node with its namespace: "Memcached default/sample".
func (n *Node) Address() string { return Address(n.Object) }

// Address returns the name of an object with its namespace: "Memcached default/sample".
func Address(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

// Event is a Kubernetes event about an object of the tree.
type Event struct {
	// Object is the address of the object.
	Object string
	// Type is Normal or Warning.
	Type, Reason, Message string
	// Last is the time of the last occurrence, and Count the number of occurrences.
	Last  time.Time
	Count int
}

// Snapshot is the current tree.
type Snapshot struct {
	// Roots are the root nodes, ordered by kind, namespace and name.
	Roots []*Node
	// Events are the events of all objects in the tree, the newest last.
	Events []Event
}

// grow builds the tree below a root. The argument owned maps the UIDs of owners to their objects.
func grow(root *unstructured.Unstructured, owned map[types.UID][]*unstructured.Unstructured, judge func(*unstructured.Unstructured) (State, string)) *Node {
	node := &Node{Object: root}
	node.State, node.Message = judge(root)
	for _, object := range owned[root.GetUID()] {
		if !retired(object) {
			node.Children = append(node.Children, grow(object, owned, judge))
		}
	}
	slices.SortFunc(node.Children, func(a, b *Node) int { return byName(a.Object, b.Object) })
	return node
}

// byOwner indexes objects by the UID of their controller, or of their first owner.
func byOwner(objects []*unstructured.Unstructured) map[types.UID][]*unstructured.Unstructured {
	owned := map[types.UID][]*unstructured.Unstructured{}
	for _, object := range objects {
		if owner := metav1.GetControllerOf(object); owner != nil {
			owned[owner.UID] = append(owned[owner.UID], object)
			continue
		}
		if owners := object.GetOwnerReferences(); len(owners) > 0 {
			owned[owners[0].UID] = append(owned[owners[0].UID], object)
		}
	}
	return owned
}

// retired reports whether an object is a ReplicaSet that a Deployment keeps only for a rollback.
func retired(object *unstructured.Unstructured) bool {
	if object.GetKind() != "ReplicaSet" || metav1.GetControllerOf(object) == nil {
		return false
	}
	wanted, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	running, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	return wanted == 0 && running == 0
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
