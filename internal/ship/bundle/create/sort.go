package create

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// targets stands for the namespaces of the OperatorGroup, in which the operator works: permissions for this namespace are those that the
// Operator Lifecycle Manager grants there.
const targets = "operator-group-targets"

// namespacesVariable is the environment variable with the namespaces of the OperatorGroup, separated by commas. It is empty for all.
const namespacesVariable = "WATCH_NAMESPACE"

// installation returns the objects of a deployment of the project.
func (m *maker) installation() ([]*unstructured.Unstructured, error) {
	o := m.operator
	if m.followsGroups() {
		o.Watch = []string{targets}
	}
	o.Webhooks = o.Webhooks || len(m.hooks) > 0
	return o.Objects()
}

// followsGroups reports whether the operator can work in the namespaces of an OperatorGroup only.
func (m *maker) followsGroups() bool { return m.project.Module.Framework == project.Operon }

// sorter divides the objects of a deployment between the ClusterServiceVersion and the manifests.
type sorter struct {
	*maker
	deployments []*appsv1.Deployment
	// identities are the ServiceAccounts of the Deployments.
	identities  map[string]bool
	permissions map[string]*grants
	definitions []*kube.CRD
	others      []*unstructured.Unstructured
}

// grants are the permissions of a ServiceAccount, in the namespaces of the OperatorGroup and in the whole cluster.
type grants struct{ within, everywhere []rbacv1.PolicyRule }

func (s *sorter) sort(all []*unstructured.Unstructured) error {
	roles := map[string][]rbacv1.PolicyRule{}
	var bindings []*unstructured.Unstructured
	var rest []*unstructured.Unstructured
	for _, object := range all {
		var err error
		switch object.GetKind() {
		case "Deployment":
			made := &appsv1.Deployment{}
			err = typed(object, made)
			s.deployments = append(s.deployments, made)
			s.identities[made.Spec.Template.Spec.ServiceAccountName] = true
		case "CustomResourceDefinition":
			var crd *kube.CRD
			crd, err = kube.ReadCRD(object)
			s.definitions = append(s.definitions, crd)
			rest = append(rest, object)
		case "Role", "ClusterRole":
			role := &rbacv1.ClusterRole{}
			err = typed(object, role)
			roles[roleKey(object.GetKind(), object.GetNamespace(), object.GetName())] = role.Rules
			rest = append(rest, object)
		case "RoleBinding", "ClusterRoleBinding":
			bindings = append(bindings, object)
		case "Namespace": // that of the ClusterServiceVersion
		default:
			rest = append(rest, object)
		}
		if err != nil {
			return err
		}
	}
	used, err := s.grant(bindings, roles)
	if err != nil {
		return err
	}
	s.keep(rest, used)
	return nil
}

func typed(object *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func roleKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// grant adds the rules of the roles that are bound to the operator to its permissions, and returns the roles.
func (s *sorter) grant(bindings []*unstructured.Unstructured, roles map[string][]rbacv1.PolicyRule) (used map[string]bool, err error) {
	used = map[string]bool{}
	for _, object := range bindings {
		binding := &rbacv1.RoleBinding{}
		if err := typed(object, binding); err != nil {
			return nil, err
		}
		key := roleKey(binding.RoleRef.Kind, "", binding.RoleRef.Name)
		if binding.RoleRef.Kind == "Role" {
			key = roleKey("Role", binding.Namespace, binding.RoleRef.Name)
		}
		rules, ok := roles[key]
		if !ok {
			return nil, fmt.Errorf("the operator is bound to the %s %s, which is not part of the project, and a bundle can only grant rules: write them in a Role of the project",
				binding.RoleRef.Kind, binding.RoleRef.Name)
		}
		if namespace := binding.Namespace; namespace != "" && namespace != targets && namespace != s.operator.Namespace {
			return nil, fmt.Errorf("the operator has permissions in the namespace %s, and a bundle can only grant them in the namespaces of its OperatorGroup or in the whole cluster: "+
				"write them in a ClusterRole of the project", namespace)
		}
		used[key] = true
		for _, subject := range binding.Subjects {
			g := s.permissions[subject.Name]
			if g == nil {
				g = &grants{}
				s.permissions[subject.Name] = g
			}
			if object.GetKind() == "ClusterRoleBinding" {
				g.everywhere = append(g.everywhere, rules...)
			} else {
				g.within = append(g.within, rules...)
			}
		}
	}
	return used, nil
}

// keep makes manifests of the objects that a bundle can have.
func (s *sorter) keep(rest []*unstructured.Unstructured, used map[string]bool) {
	for _, object := range rest {
		kind := object.GetKind()
		switch {
		case used[roleKey(kind, object.GetNamespace(), object.GetName())]:
		case kind == "Service" && len(s.hooks) > 0 && object.GetName() == s.operator.Name+"-webhook":
		case kind == "ServiceAccount" && s.identities[object.GetName()] && s.permissions[object.GetName()] != nil:
		case !bundle.Installs(kind):
			s.result.Notes = append(s.result.Notes, fmt.Sprintf("%s %s is not in the bundle, because the Operator Lifecycle Manager does not install this kind: install it yourself", kind, object.GetName()))
		default:
			object = object.DeepCopy()
			object.SetNamespace("")
			if kube.IsCRD(object) && !s.followsGroups() {
				unstructured.RemoveNestedField(object.Object, "spec", "conversion") // which the Operator Lifecycle Manager writes
			}
			s.others = append(s.others, object)
		}
	}
}

// environment sets what a container needs under the Operator Lifecycle Manager.
func (s *sorter) environment(pod *corev1.PodSpec) {
	for i := range pod.Containers {
		container := &pod.Containers[i]
		at := slices.Index(container.Args, "--namespace="+targets)
		if at < 0 {
			continue
		}
		container.Args[at] = "--namespace=$(" + namespacesVariable + ")"
		container.Env = append(container.Env, corev1.EnvVar{Name: namespacesVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['olm.targetNamespaces']"},
		}})
	}
}
