package sim_test

import (
	"context"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func createService(t *testing.T, namespace, name string, class *string) {
	t.Helper()
	_, err := plane.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func getService(namespace, name string) func(context.Context) (*corev1.Service, error) {
	return func(ctx context.Context) (*corev1.Service, error) {
		return plane.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	}
}

func balanced(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) == 1 }

func TestLoadBalancersGetAddresses(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createService(t, namespace, "one", nil)
	createService(t, namespace, "two", nil)
	one := await(t, "balanced Service", getService(namespace, "one"), balanced).Status.LoadBalancer.Ingress[0].IP
	two := await(t, "balanced Service", getService(namespace, "two"), balanced).Status.LoadBalancer.Ingress[0].IP
	network := netip.MustParsePrefix("198.19.128.0/17")
	if one == two || !network.Contains(netip.MustParseAddr(one)) || !network.Contains(netip.MustParseAddr(two)) {
		t.Errorf("addresses %s and %s: want two of %s", one, two, network)
	}
}

func TestServiceLosesItsAddressWithItsType(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	namespace := newNamespace(t)
	createService(t, namespace, "web", nil)
	await(t, "balanced Service", getService(namespace, "web"), balanced)
	_, err := client.CoreV1().Services(namespace).Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"type":"ClusterIP"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "Service without address", getService(namespace, "web"), func(service *corev1.Service) bool { return !balanced(service) })
}

func TestLoadBalancerOfAnotherClassIsLeftAlone(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createService(t, namespace, "theirs", new("example.com/balancer"))
	createService(t, namespace, "ours", nil) // created later, so it is handled later
	await(t, "balanced Service", getService(namespace, "ours"), balanced)
	theirs, err := getService(namespace, "theirs")(t.Context())
	if err != nil || balanced(theirs) {
		t.Errorf("error %v, status %s: want no address", err, asYAML(theirs.Status))
	}
}
