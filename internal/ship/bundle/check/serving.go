package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/ship/bundle"
)

// What rendered objects get in the place of the parts of a certificate.
const (
	fakeCA   = "ca"
	fakeHash = "hash"
)

// certificates returns a certificate for each Deployment.
func (r *rendered) certificates() map[string]render.Certificate {
	all := map[string]render.Certificate{}
	for _, one := range r.csv.Spec.Install.Spec.Deployments {
		all[one.Name] = render.Certificate{Data: map[string][]byte{corev1.TLSCertKey: []byte("certificate")}, Bundle: []byte(fakeCA), Hash: fakeHash}
	}
	return all
}

// serves reports whether a Deployment has webhooks or API services, whose certificate is mounted into its pods.
func (r *rendered) serves(deployment string) bool {
	spec := &r.bundle.CSV.Spec
	return slices.ContainsFunc(spec.Webhooks, func(w bundle.Webhook) bool { return w.DeploymentName == deployment }) ||
		slices.ContainsFunc(spec.APIServices.Owned, func(a bundle.API) bool { return a.DeploymentName == deployment })
}

// certificateVolume is a volume with a certificate.
type certificateVolume struct{ name, path, certificate, key string }

// certificateVolumes are the volumes with which operators expect their certificate: those of API servers, and those of webhook servers.
var certificateVolumes = []certificateVolume{
	{"apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"},
	{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"},
}

// isCertificate reports whether a mount is, or is in the place of, that of a certificate.
func isCertificate(one corev1.VolumeMount) bool {
	return slices.ContainsFunc(certificateVolumes, func(c certificateVolume) bool {
		return one.Name == c.name || strings.TrimRight(one.MountPath, "/") == c.path
	})
}

// checkCertificates checks that each container of a Deployment has both volumes with the certificate of its Service.
func (r *rendered) checkCertificates(path string, made *appsv1.Deployment) {
	pod := &made.Spec.Template.Spec
	secret := made.Name // a name that is too long is shortened, which other checks cover
	for _, want := range certificateVolumes {
		volumes := slices.DeleteFunc(slices.Clone(pod.Volumes), func(v corev1.Volume) bool { return v.Name != want.name })
		if len(volumes) != 1 || volumes[0].Secret == nil || !slices.Equal(volumes[0].Secret.Items, []corev1.KeyToPath{
			{Key: corev1.TLSCertKey, Path: want.certificate}, {Key: corev1.TLSPrivateKeyKey, Path: want.key},
		}) {
			r.problem(path, "the volumes %s of Deployment %s are %v", want.name, made.Name, volumes)
			continue
		}
		secret = volumes[0].Secret.SecretName
		for _, container := range pod.Containers {
			mounts := slices.DeleteFunc(slices.Clone(container.VolumeMounts), func(m corev1.VolumeMount) bool {
				return m.Name != want.name && strings.TrimRight(m.MountPath, "/") != want.path
			})
			if len(mounts) != 1 || mounts[0].Name != want.name || mounts[0].MountPath != want.path {
				r.problem(path, "container %s of Deployment %s mounts %v, want %s at %s", container.Name, made.Name, mounts, want.name, want.path)
			}
		}
	}
	if want := strings.ReplaceAll(made.Name, ".", "-") + "-service-cert"; len(want) <= 63 && secret != want {
		r.problem(path, "the certificate of Deployment %s is in the Secret %s, want %s", made.Name, secret, want)
	}
}

// withoutCertificates removes the mounts that are replaced by those of certificates, and the volumes that nothing mounts afterwards.
func withoutCertificates(spec *appsv1.DeploymentSpec) {
	pod := &spec.Template.Spec
	dropped := map[string]bool{}
	for i := range pod.Containers {
		pod.Containers[i].VolumeMounts = slices.DeleteFunc(pod.Containers[i].VolumeMounts, func(one corev1.VolumeMount) bool {
			dropped[one.Name] = dropped[one.Name] || isCertificate(one)
			return isCertificate(one)
		})
	}
	for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
		for _, one := range container.VolumeMounts {
			delete(dropped, one.Name)
		}
	}
	for _, one := range certificateVolumes {
		dropped[one.name] = true
	}
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(one corev1.Volume) bool { return dropped[one.Name] })
}

// served checks what is made for webhooks and API services.
type served struct {
	*rendered
	counts   map[string]int             // by kind
	services map[string]*corev1.Service // by name
	entries  map[string]bool            // the names of what API servers find the operator by
}

const webhooksField, apisField = "spec.webhookdefinitions", "spec.apiservicedefinitions"

// check compares the objects with what the CSV asks for.
func (s *served) check(children []render.Child) {
	s.counts, s.services, s.entries = map[string]int{}, map[string]*corev1.Service{}, map[string]bool{}
	for _, one := range children {
		s.counts[one.GetObjectKind().GroupVersionKind().Kind]++
		if service, is := one.Object.(*corev1.Service); is {
			s.services[service.Name] = service
		}
	}
	want := s.wanted()
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		want[kind] += 0
	}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		if s.counts[kind] != want[kind] {
			s.problem(webhooksField, "%d objects of the kind %s, want %d", s.counts[kind], kind, want[kind])
		}
	}
	for _, one := range children {
		s.checkObject(one.Object)
	}
	s.checkServers()
}

// wanted returns how many objects of each kind the CSV asks for.
func (s *served) wanted() map[string]int {
	spec := &s.bundle.CSV.Spec
	want, apis := map[string]int{"Deployment": len(spec.Install.Spec.Deployments)}, map[string]bool{}
	for _, one := range spec.Install.Spec.Deployments {
		if s.serves(one.Name) {
			want["Service"]++
			want["Secret"]++
		}
	}
	for _, one := range spec.Webhooks {
		switch one.Type {
		case bundle.Validating:
			want["ValidatingWebhookConfiguration"]++
		case bundle.Mutating:
			want["MutatingWebhookConfiguration"]++
		}
	}
	for _, one := range spec.APIServices.Owned {
		if s.deployed(one.DeploymentName) && !apis[one.Version+"."+one.Group] { // otherwise the lint has a finding
			apis[one.Version+"."+one.Group] = true
			want["APIService"]++
		}
	}
	return want
}

func (s *served) deployed(name string) bool {
	return slices.ContainsFunc(s.bundle.CSV.Spec.Install.Spec.Deployments, func(d bundle.Deployment) bool { return d.Name == name })
}

// checkObject checks where API servers send requests, and for which namespaces.
func (s *served) checkObject(object client.Object) {
	switch o := object.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		s.entries[o.Name] = true
		for _, one := range o.Webhooks {
			s.checkWebhook(one.Name, one.ClientConfig, one.NamespaceSelector)
		}
	case *admissionv1.MutatingWebhookConfiguration:
		s.entries[o.Name] = true
		for _, one := range o.Webhooks {
			s.checkWebhook(one.Name, one.ClientConfig, one.NamespaceSelector)
		}
	case *apiregistrationv1.APIService:
		s.entries[o.Name] = true
		to := o.Spec.Service
		if to == nil || o.Name != o.Spec.Version+"."+o.Spec.Group {
			s.problem(apisField, "the APIService %s leads to %v", o.Name, to)
			return
		}
		s.leads(apisField, o.Name, to.Namespace, to.Name, to.Port, o.Spec.CABundle)
	}
}

func (s *served) checkWebhook(name string, to admissionv1.WebhookClientConfig, selector *metav1.LabelSelector) {
	if to.Service == nil {
		s.problem(webhooksField, "the webhook %s leads to no Service", name)
		return
	}
	s.leads(webhooksField, name, to.Service.Namespace, to.Service.Name, to.Service.Port, to.CABundle)
	if s.group.All() {
		if selector != nil {
			s.problem(webhooksField, "the webhook %s selects %v, want all namespaces", name, selector)
		}
		return
	}
	selected, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		s.problem(webhooksField, "the webhook %s: %v", name, err)
		return
	}
	for _, namespace := range append([]string{"another"}, s.group.Targets...) {
		if got := selected.Matches(labels.Set{corev1.LabelMetadataName: namespace}); got != (namespace != "another") {
			s.problem(webhooksField, "the webhook %s is called for the namespace %s: %v", name, namespace, got)
		}
	}
}

// leads checks that a reference leads to a port of a Service of the operator, and trusts its certificate.
func (s *served) leads(field, what, namespace, name string, port *int32, ca []byte) {
	service := s.services[name]
	if service == nil || namespace != home || port == nil ||
		!slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *port }) {
		s.problem(field, "%s leads to the Service %s/%s, which is not made, or lacks the port", what, namespace, name)
	}
	if string(ca) != fakeCA {
		s.problem(field, "%s trusts %q instead of the operator's certificate", what, ca)
	}
}

// checkServers checks what belongs to servers and is not written with the Deployments: conversions, permissions and what is removed first.
func (s *served) checkServers() {
	servers, err := render.Servers(s.csv, s.group)
	if err != nil {
		s.problem(webhooksField, "%v", err)
		return
	}
	entries := map[string]bool{}
	for _, one := range servers {
		s.checkDelegation(one)
		for _, object := range one.Entries() {
			entries[object.GetName()] = true
		}
	}
	var converted []string
	for _, one := range s.bundle.CSV.Spec.Webhooks {
		if one.Type == bundle.Converting {
			converted = append(converted, one.ConversionCRDs...)
		}
	}
	var made []string
	for _, one := range render.Conversions(servers, s.certificates()) {
		made = append(made, one.CRD)
		to := one.Conversion.Webhook.ClientConfig
		s.leads(webhooksField, one.CRD, to.Service.Namespace, to.Service.Name, to.Service.Port, to.CABundle)
		s.entries[one.CRD] = true
	}
	slices.Sort(made)
	slices.Sort(converted)
	if !slices.Equal(made, converted) {
		s.problem(webhooksField, "conversions of %v, want %v", made, converted)
	}
	if !maps.Equal(entries, s.entries) {
		s.problem(webhooksField, "the webhook configurations, APIServices and CRDs that lead to the operator are %v, want %v", slices.Sorted(maps.Keys(entries)), slices.Sorted(maps.Keys(s.entries)))
	}
}

// checkDelegation checks the permissions of an API server: two bindings of roles of Kubernetes, and a Role and its binding for the certificate.
func (s *served) checkDelegation(server *render.Server) {
	want := 0
	if slices.ContainsFunc(s.bundle.CSV.Spec.APIServices.Owned, func(a bundle.API) bool { return a.DeploymentName == server.Deployment }) {
		want = 4
	}
	made := server.Delegation()
	if len(made) != want {
		s.problem(apisField, "Deployment %s gets %d objects with permissions of an API server, want %d", server.Deployment, len(made), want)
	}
	for _, object := range made {
		var subjects []rbacv1.Subject
		switch o := object.(type) {
		case *rbacv1.Role:
			continue
		case *rbacv1.RoleBinding:
			subjects = o.Subjects
		case *rbacv1.ClusterRoleBinding:
			subjects = o.Subjects
		}
		if len(subjects) != 1 || subjects[0].Namespace != home {
			s.problem(apisField, "permissions of an API server are granted to %v", subjects)
		}
	}
}

// checkAPIRoles checks that users get ClusterRoles for all kinds of the operator: three for each, and one to read its definition.
func (r *rendered) checkAPIRoles() {
	spec := &r.bundle.CSV.Spec
	definitions, apis := map[string]bool{}, map[string]bool{}
	for _, one := range spec.CRDs.Owned {
		definitions[one.Name], apis[one.Name] = true, true
	}
	for _, one := range spec.APIServices.Owned {
		if one.Name != "" {
			apis[fmt.Sprintf("%s.%s", one.Name, one.Group)] = true
		}
	}
	if got, want := len(render.APIRoles(r.csv)), len(definitions)+3*len(apis); got != want {
		r.problem("spec.customresourcedefinitions", "%d ClusterRoles for users, want %d", got, want)
	}
}
