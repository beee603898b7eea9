package sim

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// services assigns an address to each Service of type LoadBalancer, and removes the address if the type changes. Services that
// name a loadBalancerClass belong to another controller.
type services struct {
	client    typedcorev1.ServicesGetter
	addresses *addresses
}

func (s *services) handle(ctx context.Context, service *corev1.Service) (time.Duration, error) {
	if service.Spec.LoadBalancerClass != nil || service.DeletionTimestamp != nil {
		return 0, nil
	}
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		s.addresses.release(service.UID)
		return 0, s.publish(ctx, service, nil)
	}
	address, err := s.addresses.claim(service.UID)
	if err != nil {
		return 0, err
	}
	return 0, s.publish(ctx, service, []corev1.LoadBalancerIngress{{IP: address}})
}

// publish writes the address to the status of the Service, unless the status already contains it.
func (s *services) publish(ctx context.Context, service *corev1.Service, ingress []corev1.LoadBalancerIngress) error {
	has := service.Status.LoadBalancer.Ingress
	if len(has) == len(ingress) && (len(has) == 0 || publishedAddress(service) == ingress[0].IP) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}})
	if err != nil {
		return err
	}
	if patch, err = pin(patch, service); err != nil {
		return err
	}
	_, err = s.client.Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if outdated(err) {
		return nil
	}
	return err
}

func publishedAddress(service *corev1.Service) string {
	if ingress := service.Status.LoadBalancer.Ingress; len(ingress) > 0 {
		return ingress[0].IP
	}
	return ""
}

// seen reserves the existing address of the Service at once, so it is not assigned to another Service.
func (s *services) seen(service *corev1.Service) {
	if has := publishedAddress(service); has != "" && service.Spec.LoadBalancerClass == nil {
		s.addresses.reserve(service.UID, has)
	}
}

func (s *services) gone(service *corev1.Service) { s.addresses.release(service.UID) }

func (s *services) only(list []*corev1.Service) {
	uids := sets.New[types.UID]()
	for _, service := range list {
		uids.Insert(service.UID)
	}
	s.addresses.retain(uids)
	for _, service := range list {
		s.seen(service)
	}
}
