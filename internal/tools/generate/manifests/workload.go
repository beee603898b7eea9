package manifests

import (
	"path"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Ports of the container, with their names.
const (
	metricsPort = 8080
	probesPort  = 8081
	webhookPort = 9443
)

// DefaultResources is enough for an operator with some thousand objects.
func DefaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
}

// AnsibleResources is enough for an operator with a Python process that runs Ansible roles. The memory is that of Operator SDK's projects.
func AnsibleResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("768Mi")},
	}
}

// scratch is the name of the volume at scratchPath.
const (
	scratch     = "tmp"
	scratchPath = "/tmp"
)

// settled is the number of seconds for which a container without a readiness probe has to run, because it may exit shortly
// after its start.
const settled = 10

func (o Operator) deployment() *appsv1.Deployment {
	made := &appsv1.Deployment{
		ObjectMeta: o.meta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: &o.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: o.labels()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: o.labels(), Annotations: o.PodAnnotations}, Spec: o.pod()},
		},
	}
	if o.Unprobed {
		made.Spec.MinReadySeconds = settled
	}
	return made
}

func (o Operator) pod() corev1.PodSpec {
	volumes := o.Volumes
	if o.scratches() {
		volumes = append(slices.Clone(volumes), corev1.Volume{Name: scratch, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	return corev1.PodSpec{
		ServiceAccountName: o.Name,
		Volumes:            volumes,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{o.container()},
		// Replicas are useful only on several nodes.
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew:           1,
			TopologyKey:       corev1.LabelHostname,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: o.labels()},
		}},
	}
}

func (o Operator) container() corev1.Container {
	container := corev1.Container{
		Name:      "operator",
		Image:     o.Image,
		Args:      o.arguments(),
		Env:       o.environment(),
		EnvFrom:   o.EnvFrom,
		Ports:     o.ports(),
		Resources: o.Resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	container.VolumeMounts = o.Mounts
	if o.scratches() {
		container.VolumeMounts = append(slices.Clone(o.Mounts), corev1.VolumeMount{Name: scratch, MountPath: scratchPath})
	}
	if !o.Unprobed {
		container.LivenessProbe, container.ReadinessProbe = probe("/healthz", 20), probe("/readyz", 5)
	}
	return container
}

// scratches reports whether the container gets a writable directory, which it may have already.
func (o Operator) scratches() bool {
	return o.Scratch && !slices.ContainsFunc(o.Mounts, func(one corev1.VolumeMount) bool { return path.Clean(one.MountPath) == scratchPath })
}

func (o Operator) ports() []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	add := func(is bool, name string, port int32) {
		if is {
			ports = append(ports, corev1.ContainerPort{Name: name, ContainerPort: port})
		}
	}
	add(!o.Unmetered, "metrics", metricsPort)
	add(!o.Unprobed, "probes", probesPort)
	add(o.Webhooks, "webhook", webhookPort)
	return ports
}

func (o Operator) arguments() []string {
	if o.Flags != nil {
		return slices.Concat(o.Flags, o.Args)
	}
	all := []string{"--leader-elect", "--metrics-bind-address=:8080", "--metrics-secure", "--health-probe-bind-address=:8081"}
	if len(o.Watch) > 0 {
		all = append(all, "--namespace="+strings.Join(o.Watch, ","))
	}
	if o.Webhooks {
		all = append(all, "--webhook-name="+o.Name) // the name in the Roles, whatever the namespaces are
	}
	if o.Shards > 0 {
		all = append(all, "--shards="+strconv.Itoa(o.Shards))
	}
	return append(all, o.Args...)
}

// enableWebhooks is the variable by which the main packages of kubebuilder projects turn off their webhooks.
const enableWebhooks = "ENABLE_WEBHOOKS"

func (o Operator) environment() []corev1.EnvVar {
	all := []corev1.EnvVar{{
		Name:      "POD_NAMESPACE",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
	}}
	if !o.Webhooks {
		all = append(all, corev1.EnvVar{Name: enableWebhooks, Value: "false"})
	}
	for _, own := range o.Env {
		i := slices.IndexFunc(all, func(one corev1.EnvVar) bool { return one.Name == own.Name })
		switch {
		case i < 0:
			all = append(all, own)
		case own.Name != enableWebhooks: // nothing calls them, whatever the project says
			all[i] = own
		}
	}
	return all
}

func probe(path string, seconds int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}},
		PeriodSeconds: seconds,
	}
}

func (o Operator) metricsService() *corev1.Service {
	return o.service("metrics", 8080, "metrics")
}

// webhookService returns a Service with the name and port that the operator passes to API servers.
func (o Operator) webhookService() *corev1.Service {
	return o.service("webhook", 443, "webhook")
}

func (o Operator) service(name string, port int32, to string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: o.meta(name),
		Spec: corev1.ServiceSpec{
			Selector: o.labels(),
			Ports:    []corev1.ServicePort{{Name: to, Port: port, TargetPort: intstr.FromString(to)}},
		},
	}
}

func (o Operator) budget() *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: o.meta(),
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: o.labels()}},
	}
}

// networkPolicy returns a NetworkPolicy that allows requests for metrics and requests of API servers. Probes of nodes are
// always allowed. The operator's outgoing connections are not restricted, because they are unknown here.
func (o Operator) networkPolicy() *networkingv1.NetworkPolicy {
	allowed := []networkingv1.NetworkPolicyPort{}
	if !o.Unmetered {
		allowed = append(allowed, networkingv1.NetworkPolicyPort{Port: new(intstr.FromString("metrics"))})
	}
	if o.Webhooks {
		allowed = append(allowed, networkingv1.NetworkPolicyPort{Port: new(intstr.FromString("webhook"))})
	}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: o.meta(),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: o.labels()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     ingress(allowed),
		},
	}
}

// ingress returns a rule that allows traffic to the ports, or none if there are no ports.
func ingress(ports []networkingv1.NetworkPolicyPort) []networkingv1.NetworkPolicyIngressRule {
	if len(ports) == 0 {
		return nil
	}
	return []networkingv1.NetworkPolicyIngressRule{{Ports: ports}}
}

// serviceMonitor returns an object with which the Prometheus operator finds the metrics. Its kind is not part of Kubernetes.
func (o Operator) serviceMonitor() *unstructured.Unstructured {
	labels := map[string]any{}
	for key, value := range o.labels() {
		labels[key] = value
	}
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"endpoints": []any{map[string]any{
			"port": "metrics", "scheme": "https",
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
			"tlsConfig":       map[string]any{"insecureSkipVerify": true}, // each pod signs its own certificate
		}},
	}}}
	meta := o.meta()
	made.SetAPIVersion("monitoring.coreos.com/v1")
	made.SetKind("ServiceMonitor")
	made.SetName(meta.Name)
	made.SetNamespace(meta.Namespace)
	made.SetLabels(meta.Labels)
	return made
}
