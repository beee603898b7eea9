package instance

import (
	"context"
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
	"github.com/operon-framework/operon/cluster/internal/sim"
)

// containers is the node of a cluster that runs containers. It starts while the control
// plane does: node and err are final when started is closed.
type containers struct {
	started   chan struct{}
	node      *node.Node
	err       error
	images    *images
	use       *activity
	egress    bool
	published []published
}

func startContainers(f folder, spec Spec, use *activity, i *images, ports []published) *containers {
	c := &containers{started: make(chan struct{}), images: i, use: use, egress: spec.Egress, published: ports}
	go func() {
		defer close(c.started)
		c.node, c.err = node.Start(node.Config{Dir: f.node(), Store: spec.images(), FeatureGates: spec.FeatureGates, Registry: i.names(), Egress: spec.Egress, Log: os.Stderr})
	}()
	return c
}

// simulatedTaint keeps from simulated nodes the pods that do not ask for them, where there
// is a node that runs them.
func simulatedTaint() *corev1.Taint {
	return &corev1.Taint{Key: sim.NodeLabel, Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

// serveEgress connects the API server with the node's network, and with this machine's as
// without such a node: what `operon up` runs serves its webhooks on loopback.
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

// awaitStart returns when the node's process has said that it is there, or why not. What it starts in the meantime when ctx
// ends goes with this process.
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
	if err := c.images.publish(ctx, client); err != nil {
		return err
	}
	c.servePublished(ctx)
	return c.node.Join(func() error { return c.awaitReady(ctx, client) })
}

// openWayOut has pods reach what this process does, if that is asked for.
func (c *containers) openWayOut(ctx context.Context) error {
	if !c.egress {
		return nil
	}
	err := c.node.Relay(ctx, func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	if err != nil {
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

// writeIdentities writes what the node's components prove who they are with. The kubelet
// and kube-proxy may do what Kubernetes' own roles for them permit, CoreDNS what allowDNS does: it parses what pods send.
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

// publishServices makes the Services that lead to the API server and to the names of
// Services lead to the node's address, where both are.
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

// createService makes a Service that a kept state may have. It is asked for first: its address is taken then, which
// the API server finds before it finds the Service.
func createService(ctx context.Context, client kubernetes.Interface, service *corev1.Service) error {
	services := client.CoreV1().Services(service.Namespace)
	_, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
	}
	return err
}

// endpoints leads a Service to the node's address.
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

func (c *containers) awaitReady(ctx context.Context, client kubernetes.Interface) error {
	for {
		watcher, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, settings.Name).String(),
		})
		if err != nil {
			return err
		}
		if showsReady(watcher, c.node.Ended()) {
			return nil
		}
		select {
		case <-c.node.Ended():
			return c.node.Err()
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", ctx.Err())
		case <-time.After(timing.watchPause):
		}
	}
}

// showsReady returns true when a watch shows that the node is ready, and false when it or the node ends before.
func showsReady(watcher watch.Interface, ended <-chan struct{}) bool {
	defer watcher.Stop()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return false
			}
			if found, is := event.Object.(*corev1.Node); is && isReady(found) {
				return true
			}
		case <-ended:
			return false
		}
	}
}

func isReady(n *corev1.Node) bool {
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ended is closed when the node's process has ended. Without a node it never is.
func (c *containers) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.node.Ended()
}

// stop ends the node, if there is one.
func (c *containers) stop() error {
	if c == nil {
		return nil
	}
	return c.node.Stop()
}
