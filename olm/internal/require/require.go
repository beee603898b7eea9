package require

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Reader reads objects, and the object that is reconciled is reconciled again when they change.
type Reader interface {
	Get(ctx context.Context, object client.Object) (bool, error)
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// Cluster answers questions about the API server.
type Cluster interface {
	// Allowed reports whether a ServiceAccount has all permissions of a rule in a namespace, or in the whole cluster if it is empty.
	Allowed(ctx context.Context, account client.ObjectKey, namespace string, rule rbacv1.PolicyRule) (bool, error)
	// Serves reports whether the API server has a kind.
	Serves(kind schema.GroupVersionKind) (bool, error)
	// Version returns the version of the API server, such as v1.37.2.
	Version() (string, error)
}

// Check returns the requirements of a ClusterServiceVersion with their states, in a fixed order, and whether all are met.
func Check(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, reader Reader, cluster Cluster) ([]v1alpha1.Requirement, bool, error) {
	c := &check{csv: csv, reader: reader, cluster: cluster, met: true}
	for _, part := range []func(context.Context) error{c.version, c.definitions, c.apis, c.native, c.accounts} {
		if err := part(ctx); err != nil {
			return nil, false, err
		}
	}
	return c.all, c.met, nil
}

type check struct {
	csv     *v1alpha1.ClusterServiceVersion
	reader  Reader
	cluster Cluster
	all     []v1alpha1.Requirement
	met     bool
}

func (c *check) add(one v1alpha1.Requirement) {
	c.all = append(c.all, one)
	c.met = c.met && isMet(one)
}

func isMet(one v1alpha1.Requirement) bool {
	return one.Status == v1alpha1.Present || one.Status == v1alpha1.DeploymentFound
}

// maxNamed is how many requirements a sentence names.
const maxNamed = 3

// Missing returns the requirements that are not met, the first ones with what to do, or an empty string.
func Missing(all []v1alpha1.Requirement) string {
	var named []string
	more := 0
	for _, one := range all {
		switch {
		case isMet(one):
		case len(named) == maxNamed:
			more++
		default:
			named = append(named, nameOf(one)+": "+one.Message)
		}
	}
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more in status.requirementStatus", more))
	}
	return strings.Join(named, "; ")
}

// nameOf returns the name of what is required, for people. A native API is a kind, and has no name.
func nameOf(one v1alpha1.Requirement) string {
	if one.Name == "" {
		return fmt.Sprintf("%s of %s/%s", one.Kind, one.Group, one.Version)
	}
	return one.Kind + " " + one.Name
}

// version compares the version of the API server with the oldest one that the operator works with. Pre-release parts do not count, because
// providers put their own into them.
func (c *check) version(context.Context) error {
	one := v1alpha1.Requirement{
		Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: "ClusterServiceVersion", Name: c.csv.Name,
		Status: v1alpha1.Present, Message: "CSV minKubeVersion is not set",
	}
	if wanted := c.csv.Spec.MinKubeVersion; wanted != "" {
		has, err := c.cluster.Version()
		if err != nil {
			return fmt.Errorf("read the version of the API server: %w", err)
		}
		server, err := semver.ParseTolerant(has)
		if err != nil {
			return fmt.Errorf("the version of the API server: %w", err)
		}
		server.Pre, server.Build = nil, nil
		least, err := semver.ParseTolerant(wanted)
		switch {
		case err != nil:
			one.Status, one.Message = v1alpha1.PresentNotSatisfied, fmt.Sprintf("CSV minKubeVersion %q is not a version: %v", wanted, err)
		case server.LT(least):
			one.Status, one.Message = v1alpha1.PresentNotSatisfied, fmt.Sprintf("CSV version requirement not met: minKubeVersion (%s) > server version (%s)", wanted, server)
		default:
			one.Message = fmt.Sprintf("CSV minKubeVersion (%s) less than server version (%s)", wanted, server)
		}
	}
	c.add(one)
	return nil
}

// definitions checks the CustomResourceDefinitions that the operator provides and needs.
func (c *check) definitions(ctx context.Context) error {
	crds := c.csv.Spec.CustomResourceDefinitions
	for i, described := range slices.Concat(crds.Owned, crds.Required) {
		one := v1alpha1.Requirement{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: described.Name}
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: described.Name}}
		found, err := c.reader.Get(ctx, crd)
		if err != nil {
			return err
		}
		one.Status, one.Message = stateOf(crd, found, described.Version)
		switch {
		case found:
			one.UUID = string(crd.UID)
		case i < len(crds.Owned):
			one.Message += ": apply that of the bundle, or let a Subscription install the operator"
		default:
			one.Message += ": install an operator that provides it"
		}
		c.add(one)
	}
	return nil
}

func stateOf(crd *apiextensionsv1.CustomResourceDefinition, found bool, version string) (v1alpha1.RequirementState, string) {
	if !found {
		return v1alpha1.NotPresent, "CRD is not present"
	}
	serves := false
	for _, one := range crd.Spec.Versions {
		serves = serves || one.Served && one.Name == version
	}
	if !serves {
		return v1alpha1.NotAvailable, fmt.Sprintf("CRD is present and does not serve the version %s: install a version of its operator that has it", version)
	}
	why := ""
	for _, condition := range crd.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue:
			return v1alpha1.Present, "CRD is present and Established condition is true"
		case condition.Status == apiextensionsv1.ConditionFalse && condition.Type != apiextensionsv1.Established:
			why = fmt.Sprintf(": %s is False: %s", condition.Type, condition.Message) // Established only says that it is not
		}
	}
	return v1alpha1.NotAvailable, "CRD is present but the Established condition is False (not available)" + why
}

// apis checks the aggregated APIs: those that the operator needs must be available, and those that it provides need a Deployment.
func (c *check) apis(ctx context.Context) error {
	for _, described := range c.csv.Spec.APIServiceDefinitions.Required {
		name := described.Version + "." + described.Group
		one := v1alpha1.Requirement{Group: apiregistrationv1.GroupName, Version: "v1", Kind: "APIService", Name: name}
		service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}}
		found, err := c.reader.Get(ctx, service)
		if err != nil {
			return err
		}
		one.Status, one.Message = v1alpha1.NotPresent, "APIService is not present: install an operator that provides it"
		if found {
			one.Status, one.Message, one.UUID = v1alpha1.NotAvailable, "APIService is present and not available", string(service.UID)
		}
		for _, condition := range service.Status.Conditions {
			switch {
			case condition.Type != apiregistrationv1.Available:
			case condition.Status == apiregistrationv1.ConditionTrue:
				one.Status, one.Message = v1alpha1.Present, "APIService is available"
			default:
				one.Message += ": " + condition.Message
			}
		}
		c.add(one)
	}
	for _, described := range c.csv.Spec.APIServiceDefinitions.Owned {
		one := v1alpha1.Requirement{
			Group: apiregistrationv1.GroupName, Version: "v1", Kind: "APIService", Name: described.Version + "." + described.Group,
			Status: v1alpha1.DeploymentNotFound, Message: fmt.Sprintf("no deployment %q in spec.install: correct deploymentName", described.DeploymentName),
		}
		for _, deployment := range c.csv.Spec.Install.Spec.Deployments {
			if deployment.Name == described.DeploymentName {
				one.Status, one.Message = v1alpha1.DeploymentFound, ""
			}
		}
		c.add(one)
	}
	return nil
}

// native checks kinds that the API server has to have.
func (c *check) native(context.Context) error {
	for _, kind := range c.csv.Spec.NativeAPIs {
		one := v1alpha1.Requirement{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Status: v1alpha1.Present, Message: "Native API exists"}
		served, err := c.cluster.Serves(schema.GroupVersionKind(kind))
		if err != nil {
			return err
		}
		if !served {
			one.Status, one.Message = v1alpha1.NotPresent, "Native API does not exist: upgrade Kubernetes, or install what serves it"
		}
		c.add(one)
	}
	return nil
}

// accounts checks the ServiceAccounts and their permissions. Objects of RBAC are only read so that a change of them leads to the next check:
// the API server alone knows what they allow.
func (c *check) accounts(ctx context.Context) error {
	spec := c.csv.Spec.Install.Spec
	if err := c.follow(ctx, spec); err != nil {
		return err
	}
	checked := map[string]*v1alpha1.Requirement{}
	var order []string
	for _, scope := range []struct {
		name, namespace string
		permissions     []v1alpha1.Permissions
	}{{"namespaced", c.csv.Namespace, spec.Permissions}, {"cluster", metav1.NamespaceAll, spec.ClusterPermissions}} {
		for _, permissions := range scope.permissions {
			name := permissions.ServiceAccountName
			if checked[name] == nil {
				account, err := c.account(ctx, name)
				if err != nil {
					return err
				}
				checked[name] = account
				order = append(order, name)
			}
			if err := c.rules(ctx, checked[name], scope.name, scope.namespace, permissions.Rules); err != nil {
				return err
			}
		}
	}
	for _, name := range order {
		c.add(*checked[name])
	}
	return nil
}

func (c *check) account(ctx context.Context, name string) (*v1alpha1.Requirement, error) {
	one := &v1alpha1.Requirement{Version: "v1", Kind: "ServiceAccount", Name: name, Status: v1alpha1.Present}
	account := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: c.csv.Namespace, Name: name}}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	found, err := c.reader.Get(ctx, account)
	if err != nil {
		return nil, err
	}
	if !found {
		one.Status, one.Message = v1alpha1.NotPresent, "Service account does not exist: create it, or let a Subscription install the operator"
	}
	one.UUID = string(account.UID)
	return one, nil
}

// rules adds the permissions of a ServiceAccount to its requirement.
func (c *check) rules(ctx context.Context, account *v1alpha1.Requirement, scope, namespace string, rules []rbacv1.PolicyRule) error {
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			return err
		}
		one := v1alpha1.Dependent{
			Group: rbacv1.GroupName, Version: "v1", Kind: "PolicyRule", Status: v1alpha1.NotSatisfied, Message: scope + " rule:" + string(text),
		}
		if account.Status != v1alpha1.NotPresent {
			allowed, err := c.cluster.Allowed(ctx, client.ObjectKey{Namespace: c.csv.Namespace, Name: account.Name}, namespace, rule)
			if err != nil {
				return fmt.Errorf("check the permissions of the ServiceAccount %s: %w", account.Name, err)
			}
			if allowed {
				one.Status = v1alpha1.Satisfied
			} else {
				account.Status, account.Message = v1alpha1.PresentNotSatisfied, "Policy rule not satisfied for service account: grant it what dependents lists as NotSatisfied"
			}
		}
		account.Dependents = append(account.Dependents, one)
	}
	return nil
}

// follow makes changes of the objects of RBAC in the namespace, and in the cluster if there are permissions for it, lead to the next check.
func (c *check) follow(ctx context.Context, spec v1alpha1.StrategyDetails) error {
	var kinds []string
	if len(spec.Permissions)+len(spec.ClusterPermissions) > 0 {
		kinds = append(kinds, "ClusterRole", "ClusterRoleBinding")
	}
	if len(spec.Permissions) > 0 {
		kinds = append(kinds, "Role", "RoleBinding")
	}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
		namespace := client.InNamespace(c.csv.Namespace)
		if kind == "ClusterRole" || kind == "ClusterRoleBinding" {
			namespace = client.InNamespace(metav1.NamespaceAll)
		}
		if err := c.reader.List(ctx, list, nil, namespace, operon.Everything, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	return nil
}
