package sim

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// nodeAddress is the address of every node, at which the API server reaches the endpoint.
const nodeAddress = "127.0.0.1"

// nodeState is the current or desired state of a node.
type nodeState string

const (
	nodeUnknown  nodeState = ""         // does not exist, or is not simulated
	nodeReady    nodeState = "Ready"    // ready, with the endpoint of this process
	nodeLost     nodeState = "Lost"     // marked as unreachable
	nodeOutdated nodeState = "Outdated" // neither
)

// nodeWords are the words on which the stages of nodes select and which they render, as .sim.
type nodeWords struct {
	Wants        nodeState `json:"wants"`
	Is           nodeState `json:"is"`
	Address      string    `json:"address"`
	Port         int       `json:"port"`
	Version      string    `json:"version"` // of the kubelet that does not exist
	Architecture string    `json:"architecture"`
}

// nodes moves nodes to their desired states, and records which nodes exist.
type nodes struct {
	client  typedcorev1.NodesGetter
	engine  *engine
	port    int    // of the endpoint
	version string // of Kubernetes
	hearts  *hearts
	pods    *podsOfNodes

	mu      sync.Mutex
	states  map[string]nodeState
	waiting sets.Set[string] // for these nodes to reach their desired states
	settled chan struct{}    // closed when they have
}

// nodeNames returns the names of the nodes that Start registers.
func nodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
	}
	return names
}

// newNode returns a node for its registration. Its capacity is part of its status, which is set later.
func (s *Sim) newNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		NodeLabel:                "true",
		"kubernetes.io/role":     "simulated", // kubectl shows this as the role
		corev1.LabelHostname:     name,
		corev1.LabelOSStable:     "linux",
		corev1.LabelArchStable:   runtime.GOARCH,
		corev1.LabelInstanceType: "simulated",
	}}}
	if s.cfg.Tainted {
		node.Spec.Taints = []corev1.Taint{taint}
	}
	return node
}

func (n *nodes) handle(ctx context.Context, node *corev1.Node) (time.Duration, error) {
	if n.state(node.Name) == nodeUnknown {
		return 0, nil
	}
	n.refuse(node)
	wants := wantsNode(node)
	words := nodeWords{
		Wants: wants, Is: n.stateOf(node),
		Address: nodeAddress, Port: n.port, Version: n.version, Architecture: runtime.GOARCH,
	}
	if _, err := n.engine.play(ctx, n.subject(node, words)); err != nil {
		return 0, err
	}
	if wants == nodeReady {
		n.hearts.start(node)
	}
	return 0, n.pods.follow(ctx, node.Name, wants)
}

// refuse reports a requested failure that does not exist for nodes.
func (n *nodes) refuse(node *corev1.Node) {
	if fail, ok := node.Annotations[FailAnnotation]; ok && fail != FailLost {
		n.engine.recorder.Eventf(reference(node), corev1.EventTypeWarning, waitsRefused,
			"annotation %s: %q is not known; use %s, or remove the annotation", FailAnnotation, fail, FailLost)
	}
}

func reference(node *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
}

func (n *nodes) subject(node *corev1.Node, words nodeWords) subject {
	client := n.client.Nodes()
	return subject{
		object:    node,
		words:     words,
		reference: reference(node),
		patch: func(ctx context.Context, kind types.PatchType, data []byte, subresource string) error {
			data, err := pin(data, node)
			if err != nil {
				return err
			}
			_, err = client.Patch(ctx, node.Name, kind, data, metav1.PatchOptions{}, subresource)
			return err
		},
		remove: func(ctx context.Context) error {
			return client.Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
		},
	}
}

func wantsNode(node *corev1.Node) nodeState {
	if node.Annotations[FailAnnotation] == FailLost {
		return nodeLost
	}
	return nodeReady
}

// stateOf returns the current state of a node according to its status.
func (n *nodes) stateOf(node *corev1.Node) nodeState {
	ready := nodeCondition(node, corev1.NodeReady)
	endpoint := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	switch {
	case ready == corev1.ConditionTrue && endpoint == n.port:
		return nodeReady
	case ready == corev1.ConditionUnknown:
		return nodeLost
	}
	return nodeOutdated
}

func nodeCondition(node *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}

// state returns the desired state of the named node, or nodeUnknown if it is not simulated.
func (n *nodes) state(name string) nodeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.states[name]
}

func (n *nodes) seen(node *corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(node)
}

func (n *nodes) note(node *corev1.Node) {
	n.states[node.Name] = wantsNode(node)
	if n.waiting.Len() == 0 || n.stateOf(node) != wantsNode(node) {
		return
	}
	if n.waiting.Delete(node.Name); n.waiting.Len() == 0 {
		close(n.settled)
	}
}

// ready reports whether the named node exists and is not lost.
func (n *nodes) ready(name string) bool { return n.state(name) == nodeReady }

// awaitSettled returns when the nodes of Start have reached their desired states.
func (n *nodes) awaitSettled(ctx context.Context) error {
	select {
	case <-n.settled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the nodes are not ready: %w", context.Cause(ctx))
	}
}

func (n *nodes) gone(node *corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.states, node.Name)
	n.pods.forget(node.Name)
}

func (n *nodes) only(list []*corev1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.states)
	for _, node := range list {
		n.note(node)
	}
}

// podsOfNodes enqueues the pods of a node again when the node has changed.
type podsOfNodes struct {
	client typedcorev1.PodsGetter
	feed   *feed[*corev1.Pod]

	mu   sync.Mutex
	open bool                 // the feed runs
	seen map[string]nodeState // the state of the node for which its pods were last enqueued
}

// follow enqueues the pods of the node unless they were already enqueued for this state. Before the feed runs, it does nothing:
// the feed will list all pods.
func (p *podsOfNodes) follow(ctx context.Context, name string, state nodeState) error {
	if !p.news(name, state) {
		return nil
	}
	pods, err := p.client.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String(),
	})
	if err != nil {
		p.forget(name)
		return fmt.Errorf("list the pods of node %s: %w", name, err)
	}
	for i := range pods.Items {
		p.feed.remind(&pods.Items[i])
	}
	return nil
}

// news records the state, and reports whether it differs from the previously recorded one.
func (p *podsOfNodes) news(name string, state nodeState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.seen[name]
	p.seen[name] = state
	return p.open && before != state
}

func (p *podsOfNodes) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
}

func (p *podsOfNodes) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, name)
}
