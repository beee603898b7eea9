package olm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

// The resources of the lifecycle manager.
var (
	Subscriptions = resource("v1alpha1", "subscriptions")
	Plans         = resource("v1alpha1", "installplans")
	Versions      = resource("v1alpha1", "clusterserviceversions")
	Catalogs      = resource("v1alpha1", "catalogsources")
	Groups        = resource("v1", "operatorgroups")
)

func resource(version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "operators.coreos.com", Version: version, Resource: name}
}

// GlobalNamespace is the namespace whose catalogs can be used in all namespaces.
const GlobalNamespace = "olm"

// ErrNotInstalled means that the cluster does not have the kinds of a lifecycle manager.
var ErrNotInstalled = errors.New("the cluster has no lifecycle manager: run one with `operon olm up`, or install one with `operon olm install`")

// State is what the objects of a lifecycle manager say, in one namespace or in all.
type State struct {
	// Namespace is empty for all namespaces.
	Namespace     string
	Subscriptions []Subscription
	Plans         []InstallPlan
	Versions      []Version
	Catalogs      []Catalog
	Groups        []Group
	// Extensions are the ClusterExtensions that install in the namespace, and ClusterCatalogs their catalogs, if ReadExtensions read them.
	Extensions      []Extension
	ClusterCatalogs []ClusterCatalog
	// Workloads are the Deployments and Pods of the namespace, if ReadWorkloads read them.
	Workloads []*unstructured.Unstructured
	// Packages are those of which a version works in the namespace, if ReadElsewhere read them.
	Packages []Package
	// Lacks names what could not be read, with the permission that is missing.
	Lacks []string

	// copies are the namespaces of the versions of which the namespace has copies.
	copies map[string]string
}

// Read reads the objects in a namespace, or in all namespaces if it is empty. What the caller may not read is listed in Lacks. The error is
// ErrNotInstalled if the cluster does not have the kinds.
func Read(ctx context.Context, client *kube.Client, namespace string) (*State, error) {
	s := &State{Namespace: namespace, copies: map[string]string{}}
	var err error
	fill := func(read func() error) {
		if err == nil {
			err = read()
		}
	}
	fill(func() error {
		s.Subscriptions, err = list[Subscription](ctx, client, s, Subscriptions, namespace)
		return err
	})
	fill(func() error { s.Plans, err = list[InstallPlan](ctx, client, s, Plans, namespace); return err })
	fill(func() error { s.Versions, err = list[Version](ctx, client, s, Versions, namespace); return err })
	fill(func() error { s.Groups, err = list[Group](ctx, client, s, Groups, namespace); return err })
	for _, where := range s.catalogNamespaces() {
		fill(func() error {
			found, err := list[Catalog](ctx, client, s, Catalogs, where)
			s.Catalogs = append(s.Catalogs, found...)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	s.Versions = slices.DeleteFunc(s.Versions, func(of Version) bool {
		s.copies[of.Name] = of.Labels[v1alpha1.LabelCopiedFrom]
		return s.copies[of.Name] != ""
	})
	return s, nil
}

// catalogNamespaces returns the namespaces whose catalogs can be used.
func (s *State) catalogNamespaces() []string {
	if s.Namespace == "" || s.Namespace == GlobalNamespace {
		return []string{s.Namespace}
	}
	return []string{s.Namespace, GlobalNamespace}
}

// ReadWorkloads reads the Deployments and Pods of the namespace.
func (s *State) ReadWorkloads(ctx context.Context, client *kube.Client) error {
	for _, kind := range []schema.GroupVersionResource{{Group: "apps", Version: "v1", Resource: "deployments"}, {Version: "v1", Resource: "pods"}} {
		found, err := s.objects(ctx, client, kind, s.Namespace)
		if err != nil {
			return err
		}
		s.Workloads = append(s.Workloads, found...)
	}
	return nil
}

// list reads the objects of a resource.
func list[T any](ctx context.Context, client *kube.Client, s *State, of schema.GroupVersionResource, namespace string) ([]T, error) {
	objects, err := s.objects(ctx, client, of, namespace)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, object := range objects {
		one, err := Decode[T](object)
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	return all, nil
}

// Decode returns an object with the fields of a type.
func Decode[T any](object *unstructured.Unstructured) (*T, error) {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	one := new(T)
	if err := json.Unmarshal(text, one); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return one, nil
}

// pageSize is the number of objects in one answer of the API server.
const pageSize = 250

// objects reads the objects of a resource. A missing permission is recorded.
func (s *State) objects(ctx context.Context, client *kube.Client, of schema.GroupVersionResource, namespace string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for next := ""; ; {
		page, err := client.Dynamic.Resource(of).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		switch {
		case apierrors.IsForbidden(err):
			s.lack(Missing("list", of, namespace, ""))
			return nil, nil
		case apierrors.IsNotFound(err):
			return nil, ErrNotInstalled
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", of.GroupResource(), err)
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

func (s *State) lack(what string) {
	if !slices.Contains(s.Lacks, what) {
		s.Lacks = append(s.Lacks, what)
	}
}

// Missing describes a permission that the caller does not have.
func Missing(verb string, of schema.GroupVersionResource, namespace, name string) string {
	right := rbac.Permission{Verb: verb, Group: of.Group, Resource: of.Resource, Name: name, Namespace: namespace}
	scope := ""
	if namespace == "" && of.Group != Extensions.Group {
		scope = " in all namespaces"
	}
	return fmt.Sprintf("you may not %s%s", right, scope)
}
