package instance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/node"
	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// containers is the node of a cluster that runs containers. It starts at the same time as the control plane: node and err are
// final when started is closed.
type containers struct {
	started   chan struct{}
	node      *node.Node
	err       error
	images    *images
	use       *activity
	egress    bool
	published []published
	client    kubernetes.Interface // nil until the node has joined
}

func startContainers(f folder, spec Spec, use *activity, i *images, ports []published) *containers {
	c := &containers{started: make(chan struct{}), images: i, use: use, egress: spec.Egress, published: ports}
	go func() {
		defer close(c.started)
		c.node, c.err = node.Start(node.Config{Dir: f.node(), Store: spec.images(), FeatureGates: spec.FeatureGates, Registry: i.names(), Egress: spec.Egress, Log: os.Stderr})
	}()
	return c
}

// serveEgress connects the API server with the network of the node. Other addresses are reached through this machine, as in
// clusters without such a node: the operators that `operon up` runs serve their webhooks on loopback.
func (c *containers) serveEgress(ctx context.Context, f folder) error {
	return node.ServeEgress(ctx, f.egress(), func(ctx context.Context, address string) (net.Conn, error) {
		if !node.Inside(address) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
		if err := c.awaitStart(ctx); err != nil {
			return nil, err
		}
		return c.node.Dial(ctx, address)
	})
}

// awaitStart returns when the process of the node has reported that it has started or has failed. If ctx ends before that, the
// process that is being started ends with this process.
func (c *containers) awaitStart(ctx context.Context) error {
	select {
	case <-c.started:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("its process has not started yet: %w", context.Cause(ctx))
	}
}

// join returns when the node is ready.
func (c *containers) join(ctx context.Context, plane *controlplane.ControlPlane) error {
	if err := c.awaitStart(ctx); err != nil {
		return err
	}
	listener, err := c.node.Listen(netip.AddrPortFrom(settings.Address, settings.APIPort))
	if err != nil {
		return fmt.Errorf("the API server cannot listen in the node's network: %w", err)
	}
	plane.Attach(listener)
	if err := c.images.serveNode(ctx, c.node.Listen); err != nil {
		return err
	}
	if err := c.openWayOut(ctx); err != nil {
		return err
	}
	if err := writeIdentities(plane, c.node.Dir()); err != nil {
		return err
	}
	client, err := systemClient(plane, "container-node")
	if err != nil {
		return err
	}
	if err := allowDNS(ctx, client); err != nil {
		return err
	}
	if err := publishServices(ctx, client); err != nil {
		return err
	}
	c.client = client
	if err := c.publishImages(ctx); err != nil {
		return err
	}
	c.servePublished(ctx)
	return c.node.Join(func() error { return c.awaitReady(ctx, client) })
}

// openWayOut makes everything that this process can reach available to pods, if egress is enabled.
func (c *containers) openWayOut(ctx context.Context) error {
	if !c.egress {
		return nil
	}
	if err := c.node.Relay(ctx, node.DialOutside); err != nil {
		return err
	}
	return c.node.Resolve(ctx)
}

func systemClient(plane *controlplane.ControlPlane, name string) (kubernetes.Interface, error) {
	config, err := plane.SystemConfig(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// writeIdentities writes the client credentials of the node's components. The kubelet and kube-proxy have the permissions of
// their built-in Kubernetes roles. CoreDNS has only the permissions of allowDNS, because it parses input from pods.
func writeIdentities(plane *controlplane.ControlPlane, dir settings.Dir) error {
	for component, who := range map[string][]string{
		settings.Kubelet: {"system:node:" + settings.Name, "system:nodes"},
		settings.Proxy:   {"system:kube-proxy"},
		settings.CoreDNS: {dnsUser},
	} {
		if err := plane.WriteIdentity(dir.Kubeconfig(component), settings.APIServer(), who[0], who[1:]...); err != nil {
			return err
		}
	}
	return plane.WriteServing(dir.ServingCert(), dir.ServingKey(), dir.Authority(),
		settings.Name, settings.Name, settings.Address.String())
}

// publishServices makes the Services of the API server and of DNS refer to the address of the node, at which both are served.
func publishServices(ctx context.Context, client kubernetes.Interface) error {
	port := func(name string, protocol corev1.Protocol, number int32) discoveryv1.EndpointPort {
		return discoveryv1.EndpointPort{Name: &name, Protocol: &protocol, Port: &number}
	}
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	dns := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns", Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": "kube-dns"}},
		Spec: corev1.ServiceSpec{ClusterIP: settings.DNS.String(), Ports: []corev1.ServicePort{
			{Name: "dns", Protocol: udp, Port: 53, TargetPort: intstr.FromInt32(53)},
			{Name: "dns-tcp", Protocol: tcp, Port: 53, TargetPort: intstr.FromInt32(53)},
		}},
	}
	if err := createService(ctx, client, dns); err != nil {
		return fmt.Errorf("service kube-dns: %w", err)
	}
	for _, slice := range []*discoveryv1.EndpointSlice{
		endpoints(metav1.NamespaceDefault, "kubernetes", port("https", tcp, settings.APIPort)),
		endpoints(metav1.NamespaceSystem, "kube-dns", port("dns", udp, 53), port("dns-tcp", tcp, 53)),
	} {
		if _, err := client.DiscoveryV1().EndpointSlices(slice.Namespace).Create(ctx, slice, metav1.CreateOptions{}); unlessExists(err) != nil {
			return fmt.Errorf("endpoints of %s: %w", slice.Name, err)
		}
	}
	return nil
}

// createService creates a Service unless a retained state already contains it. It reads the Service first: if the Service
// exists, its address is in use, and for a create request the API server would report that instead of the existing Service.
func createService(ctx context.Context, client kubernetes.Interface, service *corev1.Service) error {
	services := client.CoreV1().Services(service.Namespace)
	_, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
	}
	return err
}

// endpoints returns an EndpointSlice that makes a Service refer to the address of the node.
func endpoints(namespace, service string, ports ...discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service, Namespace: namespace, Labels: map[string]string{
			discoveryv1.LabelServiceName: service,
			discoveryv1.LabelManagedBy:   "operon-cluster",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{settings.Address.String()},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		}},
		Ports: ports,
	}
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// errNotReady means that a node did not become ready in time.
var errNotReady = errors.New("it is not ready")

func (c *containers) awaitReady(ctx context.Context, client kubernetes.Interface) error {
	state := "it did not register"
	for {
		watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, settings.Name).String(),
		})
		if err != nil {
			return err
		}
		if showsReady(watcher, c.node.Ended(), &state) {
			return nil
		}
		select {
		case <-c.node.Ended():
			return c.node.Err()
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", errNotReady, state)
		case <-time.After(timing.watchPause):
		}
	}
}

// showsReady returns true when a watch shows that the node is ready, and false if the watch or the node ends before that. It describes the
// node that it saw last in state.
func showsReady(watcher watch.Interface, ended <-chan struct{}, state *string) bool {
	defer watcher.Stop()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false
			}
			if found, is := event.Object.(*corev1.Node); is {
				var ready bool
				if ready, *state = readiness(found); ready {
					return true
				}
			}
		case <-ended:
			return false
		}
	}
}

// readiness reports whether a node is ready, and why.
func readiness(n *corev1.Node) (ready bool, why string) {
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue, fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
		}
	}
	return false, "it has no status"
}

// publishImages tells tools the address of the registry, if the cluster has one.
func (c *containers) publishImages(ctx context.Context) error {
	if c == nil || c.client == nil {
		return nil
	}
	return c.images.publish(ctx, c.client)
}

// ended returns a channel that is closed when the process of the node has ended. Without a node, it is never closed.
func (c *containers) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.node.Ended()
}

// stop stops the node, if the cluster has one.
func (c *containers) stop() error {
	if c == nil {
		return nil
	}
	return c.node.Stop()
}
