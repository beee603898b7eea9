package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/operon-framework/operon/internal/core/names"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Labels of the objects of an operator.
const (
	LabelManaged        = "olm.managed"
	LabelOwner          = "olm.owner"
	LabelOwnerNamespace = "olm.owner.namespace"
	LabelOwnerKind      = "olm.owner.kind"
)

// Annotations that tell an operator about its OperatorGroup. They are on its ClusterServiceVersion and its pods.
const (
	AnnotationGroup     = "olm.operatorGroup"
	AnnotationNamespace = "olm.operatorNamespace"
	AnnotationTargets   = "olm.targetNamespaces"
)

// AnnotationVolumes on an OperatorGroup with the value VolumesAny allows volumes of all types in Subscriptions.
const (
	AnnotationVolumes = "olm.subscription-volumes"
	VolumesAny        = "Any"
)

// AnnotationTakenFrom is on a cluster-scoped object that a plan has taken over from the version that is replaced. Its value is the name of that
// version, which gets the object back if the upgrade is given up.
const AnnotationTakenFrom = "olm.taken-from"

// EnvCondition is the environment variable with the name of the operator's OperatorCondition.
const EnvCondition = "OPERATOR_CONDITION_NAME"

const maxLabel = 63

// Group is the OperatorGroup of an operator.
type Group struct {
	Name, Namespace string
	// Config are changes of a Subscription, or nil.
	Config *v1alpha1.SubscriptionConfig
	// AnyVolumes allows volumes of all types in Config.
	AnyVolumes bool
	// Targets are the names of the namespaces that the operator works in, in order. One empty name stands for all.
	Targets []string
	// Absent are those of Targets that do not exist, or are being deleted: nothing can be created there.
	Absent []string
	// Selector selects the targets, if the group has a selector.
	Selector *metav1.LabelSelector
}

// All reports whether the operator works in all namespaces.
func (g Group) All() bool { return slices.Equal(g.Targets, []string{metav1.NamespaceAll}) }

// Annotations returns the annotations that tell an operator about its group. No target namespace stands for all.
func (g Group) Annotations() map[string]string {
	return map[string]string{AnnotationGroup: g.Name, AnnotationNamespace: g.Namespace, AnnotationTargets: strings.Join(g.Targets, ",")}
}

// Labels returns the labels of the objects of a ClusterServiceVersion.
func Labels(csv *v1alpha1.ClusterServiceVersion) map[string]string {
	all := map[string]string{
		LabelManaged: "true", LabelOwner: names.Join(maxLabel, csv.Name), LabelOwnerNamespace: csv.Namespace,
		LabelOwnerKind: "ClusterServiceVersion",
	}
	for key, value := range csv.Labels {
		if strings.HasPrefix(key, componentPrefix) {
			all[key] = value
		}
	}
	return all
}

const componentPrefix = "operators.coreos.com/"

// ComponentLabel returns the label of the version, the plan and the objects of a package in a namespace. Its value is empty.
func ComponentLabel(of, namespace string) string {
	name := of + "." + namespace
	return componentPrefix + strings.TrimRight(name[:min(len(name), maxLabel)], "-_.")
}

// Deployments returns the Deployments of an operator. The error names the Deployment whose spec is not valid.
func Deployments(csv *v1alpha1.ClusterServiceVersion, group Group) ([]*appsv1.Deployment, error) {
	var all []*appsv1.Deployment
	for i, described := range csv.Spec.Install.Spec.Deployments {
		one, err := deployment(csv, group, described)
		if err != nil {
			return nil, fmt.Errorf("spec.install.spec.deployments[%d] (%s): %w", i, described.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func deployment(csv *v1alpha1.ClusterServiceVersion, group Group, described v1alpha1.DeploymentSpec) (*appsv1.Deployment, error) {
	var spec appsv1.DeploymentSpec
	if err := kjson.UnmarshalCaseSensitivePreserveInts(described.Spec.Raw, &spec); err != nil { // as API servers do
		return nil, fmt.Errorf("spec: %w", explain(described.Spec.Raw, err))
	}
	limit := int32(1)
	spec.RevisionHistoryLimit = &limit
	if spec.Template.Annotations == nil {
		spec.Template.Annotations = map[string]string{}
	}
	maps.Copy(spec.Template.Annotations, podAnnotations(csv, group))
	spec.Template.CreationTimestamp = metav1.Time{}
	for i := range spec.Template.Spec.Containers {
		container := &spec.Template.Spec.Containers[i]
		container.Env = setEnv(container.Env, corev1.EnvVar{Name: EnvCondition, Value: csv.Name})
	}
	labels := maps.Clone(described.Label)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, Labels(csv))
	made := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: described.Name, Labels: labels}, Spec: spec,
	}
	return made, configure(made, group)
}

// explain returns the strict error of a decoder, which names the field.
func explain(raw []byte, err error) error {
	if strict, fatal := kjson.UnmarshalStrict(raw, &appsv1.DeploymentSpec{}); fatal != nil || len(strict) > 0 {
		return fmt.Errorf("want the spec of a Deployment of apps/v1: %w", err)
	}
	return err
}

// ForTools reports whether tools write an annotation of a ClusterServiceVersion for themselves. On pods, a change of it would restart the
// operator.
func ForTools(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "kubectl.kubernetes.io" || domain == "applyset.kubernetes.io" || strings.HasSuffix(domain, "operon.dev") ||
		key == "operatorframework.io/properties"
}

// podAnnotations returns the annotations of a ClusterServiceVersion for its pods.
func podAnnotations(csv *v1alpha1.ClusterServiceVersion, group Group) map[string]string {
	all := map[string]string{}
	for key, value := range csv.Annotations {
		if !ForTools(key) {
			all[key] = value
		}
	}
	maps.Copy(all, group.Annotations())
	return all
}

// setEnv sets a variable, in the place of one with the same name.
func setEnv(all []corev1.EnvVar, one corev1.EnvVar) []corev1.EnvVar {
	for i := range all {
		if all[i].Name == one.Name {
			all[i] = one
			return all
		}
	}
	return append(all, one)
}
