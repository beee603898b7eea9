package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/names"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// AnnotationCAHash is on the Secret of a certificate and on the pods that serve with it. Its value identifies the CA, so pods are replaced
// when a certificate is.
const AnnotationCAHash = "olmcahash"

// Certificate is what the objects of a Server contain of its certificate.
type Certificate struct {
	// Data is the content of the Secret.
	Data map[string][]byte
	// Bundle are the CAs that API servers trust, in PEM.
	Bundle []byte
	// Hash identifies the CA of the certificate.
	Hash string
}

// Server is a Deployment that serves webhooks or API services.
type Server struct {
	// Deployment, Service and Secret are names.
	Deployment, Service, Secret string
	// Hosts are the names in its certificate.
	Hosts []string

	csv      *v1alpha1.ClusterServiceVersion
	selector map[string]string
	account  string
	ports    []corev1.ServicePort
	webhooks []v1alpha1.WebhookDescription
	apis     []v1alpha1.APIServiceDescription
}

// WebhookError is a mistake in the description of a webhook.
type WebhookError struct{ Err error }

func (e *WebhookError) Error() string { return e.Err.Error() }

func (e *WebhookError) Unwrap() error { return e.Err }

// APIServiceError is a mistake in the description of an API service.
type APIServiceError struct{ Err error }

func (e *APIServiceError) Error() string { return e.Err.Error() }

func (e *APIServiceError) Unwrap() error { return e.Err }

// Child is an object of an operator.
type Child struct {
	client.Object
	// After is the name of the Deployment that has to be ready before the object is written. Empty: none.
	After string
}

// Servers returns the Deployments that serve webhooks or API services, in the order of the ClusterServiceVersion. The error is a
// *WebhookError or an *APIServiceError, or says which Deployment is not valid.
func Servers(csv *v1alpha1.ClusterServiceVersion, group Group) ([]*Server, error) {
	deployments, err := Deployments(csv, group)
	if err != nil {
		return nil, err
	}
	return serversOf(csv, deployments)
}

func serversOf(csv *v1alpha1.ClusterServiceVersion, deployments []*appsv1.Deployment) ([]*Server, error) {
	if err := checkWebhooks(csv); err != nil {
		return nil, &WebhookError{err}
	}
	if err := checkAPIServices(csv); err != nil {
		return nil, &APIServiceError{err}
	}
	var all []*Server
	for _, deployment := range deployments {
		s, err := serverOf(csv, deployment)
		if err != nil {
			return nil, &WebhookError{err}
		}
		if s == nil {
			continue
		}
		for _, other := range all {
			if other.Service == s.Service && other.Deployment != s.Deployment {
				return nil, &WebhookError{fmt.Errorf("the Deployments %s and %s would have the same Service %s: rename one of them", other.Deployment, s.Deployment, s.Service)}
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// serverOf returns what a Deployment serves, or nil.
func serverOf(csv *v1alpha1.ClusterServiceVersion, deployment *appsv1.Deployment) (*Server, error) {
	s := &Server{csv: csv, Deployment: deployment.Name, account: cmp.Or(deployment.Spec.Template.Spec.ServiceAccountName, "default")}
	for _, one := range csv.Spec.WebhookDefinitions {
		if one.DeploymentName == deployment.Name {
			s.webhooks = append(s.webhooks, one)
			if err := s.listen(one.ContainerPort, one.TargetPort); err != nil {
				return nil, err
			}
		}
	}
	for _, one := range csv.Spec.APIServiceDefinitions.Owned {
		if one.DeploymentName == deployment.Name {
			s.apis = append(s.apis, one)
			if err := s.listen(one.ContainerPort, nil); err != nil {
				return nil, err
			}
		}
	}
	if len(s.ports) == 0 {
		return nil, nil
	}
	if deployment.Spec.Selector != nil {
		s.selector = deployment.Spec.Selector.MatchLabels
	}
	if len(s.selector) == 0 {
		return nil, fmt.Errorf("deployment %s serves webhooks or API services: its selector needs matchLabels, which become those of its Service", s.Deployment)
	}
	s.Service = ServiceName(s.Deployment)
	s.Secret = s.Service + SecretSuffix
	host := s.Service + "." + csv.Namespace
	s.Hosts = []string{host, host + ".svc", host + ".svc.cluster.local"}
	return s, nil
}

// SecretSuffix ends the name of the Secret with the certificate of a Service.
const SecretSuffix = "-cert"

// ServiceName returns the name of the Service of a Deployment that serves webhooks or API services.
func ServiceName(deployment string) string {
	return names.Join(maxLabel, strings.ReplaceAll(deployment, ".", "-"), "service")
}

const defaultPort = 443

func portOf(declared int32) int32 { return cmp.Or(declared, defaultPort) }

// listen adds a port to the Service, once.
func (s *Server) listen(declared int32, target *intstr.IntOrString) error {
	port := corev1.ServicePort{Name: strconv.Itoa(int(portOf(declared))), Protocol: corev1.ProtocolTCP, Port: portOf(declared), TargetPort: intstr.FromInt32(portOf(declared))}
	if target != nil {
		port.TargetPort = intstr.Parse(target.String()) // a number in quotes is no name, which has a letter
	}
	for _, has := range s.ports {
		if has.Port == port.Port && has.TargetPort != port.TargetPort {
			return fmt.Errorf("deployment %s: containerPort %d leads to the target ports %s and %s: use different container ports",
				s.Deployment, port.Port, has.TargetPort.String(), port.TargetPort.String())
		}
		if has.Port == port.Port {
			return nil
		}
	}
	s.ports = append(s.ports, port)
	return nil
}

// Children returns the Deployments of an operator with what they serve: first Services and certificates, then Deployments, then webhook
// configurations and APIServices. certificates are by Deployment; without them, only the names of the objects are right.
func Children(csv *v1alpha1.ClusterServiceVersion, group Group, certificates map[string]Certificate) ([]Child, error) {
	deployments, err := Deployments(csv, group)
	if err != nil {
		return nil, err
	}
	servers, err := serversOf(csv, deployments)
	if err != nil {
		return nil, err
	}
	var all, entries []Child
	serving := map[string]*Server{}
	for _, s := range servers {
		serving[s.Deployment] = s
		with := certificates[s.Deployment]
		all = append(all, Child{Object: s.secret(with)}, Child{Object: s.service()})
		for _, object := range append(s.configurations(group, with), s.apiServices(with)...) {
			entries = append(entries, Child{object, s.Deployment})
		}
	}
	for _, one := range deployments {
		if s := serving[one.Name]; s != nil {
			s.mount(&one.Spec.Template, certificates[one.Name])
		}
		all = append(all, Child{Object: one})
	}
	return append(all, entries...), nil
}

func (s *Server) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.csv.Namespace, Name: name, Labels: Labels(s.csv)}
}

func (s *Server) secret(with Certificate) *corev1.Secret {
	meta := s.meta(s.Secret)
	meta.Annotations = map[string]string{AnnotationCAHash: with.Hash}
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: with.Data,
	}
}

func (s *Server) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: s.meta(s.Service),
		Spec: corev1.ServiceSpec{Selector: s.selector, Ports: s.ports},
	}
}

// mount gives all containers of a pod the certificate, at the paths and with the file names that API servers and webhook servers read by
// default.
func (s *Server) mount(pod *corev1.PodTemplateSpec, with Certificate) {
	pod.Annotations[AnnotationCAHash] = with.Hash
	for _, place := range []struct{ volume, path, cert, key string }{
		{"apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"},
		{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs", corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	} {
		replaceVolume(&pod.Spec, corev1.Volume{Name: place.volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: s.Secret,
			Items:      []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: place.cert}, {Key: corev1.TLSPrivateKeyKey, Path: place.key}},
		}}}, place.path)
	}
}

// replaceVolume mounts a volume into all containers, in the place of a volume of its name and of mounts at its path. A volume whose only
// mounts were replaced is removed: its Secret need not exist.
func replaceVolume(pod *corev1.PodSpec, volume corev1.Volume, path string) {
	replaced := map[string]bool{volume.Name: true}
	for i := range pod.Containers {
		var mounts []corev1.VolumeMount
		for _, one := range pod.Containers[i].VolumeMounts {
			if one.Name == volume.Name || strings.TrimRight(one.MountPath, "/") == path {
				replaced[one.Name] = true
				continue
			}
			mounts = append(mounts, one)
		}
		pod.Containers[i].VolumeMounts = append(mounts, corev1.VolumeMount{Name: volume.Name, MountPath: path})
	}
	for _, containers := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for _, container := range containers {
			for _, one := range container.VolumeMounts {
				delete(replaced, one.Name)
			}
		}
	}
	replaced[volume.Name] = true
	var volumes []corev1.Volume
	for _, one := range pod.Volumes {
		if !replaced[one.Name] {
			volumes = append(volumes, one)
		}
	}
	pod.Volumes = append(volumes, volume)
}

// unique returns a name that ends in a hash of what distinguishes an object from others with the same base.
func unique(base string, distinct ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(distinct, "\x00")))
	return names.Join(maxLabel, base, hex.EncodeToString(sum[:5]))
}
