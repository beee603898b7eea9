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

// State is whether an object is ready.
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
	// Object as it stands, without managed fields. A node of state Missing has its names only.
	Object *unstructured.Unstructured
	State  State
	// Message says why the object is in its state: one line, "" when there is nothing to say.
	Message string
	// Children in order of kind and name.
	Children []*Node
}

// Title names the node: "Deployment web".
func (n *Node) Title() string { return n.Object.GetKind() + " " + n.Object.GetName() }

// Address names the node with its namespace: "Memcached default/sample".
func (n *Node) Address() string { return Address(n.Object) }

// Address names an object with its namespace: "Memcached default/sample".
func Address(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

// Event is something that happened to an object of the tree.
type Event struct {
	// Object is its address.
	Object string
	// Type is Normal or Warning.
	Type, Reason, Message string
	// Last is when it happened last, Count how often.
	Last  time.Time
	Count int
}

// Snapshot is the tree as it stands.
type Snapshot struct {
	// Roots in order of kind, namespace and name.
	Roots []*Node
	// Events of all objects in the tree, the newest last.
	Events []Event
}

// grow builds the trees below roots. Objects are given by their owners' UIDs.
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

// byOwner indexes objects by the UID of the owner that controls them, or of their first owner.
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

// retired tells the ReplicaSets that a Deployment keeps for a rollback only.
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
