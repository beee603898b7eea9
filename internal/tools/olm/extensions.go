package olm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// The resources of OLM v1. They belong to no namespace.
var (
	Extensions      = schema.GroupVersionResource{Group: "olm.operatorframework.io", Version: "v1", Resource: "clusterextensions"}
	ClusterCatalogs = schema.GroupVersionResource{Group: "olm.operatorframework.io", Version: "v1", Resource: "clustercatalogs"}
)

// Extension is a ClusterExtension: it keeps a package installed for the whole cluster.
type Extension struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Namespace string `json:"namespace"`
		Source    struct {
			Catalog struct {
				PackageName string   `json:"packageName"`
				Version     string   `json:"version"`
				Channels    []string `json:"channels"`
			} `json:"catalog"`
		} `json:"source"`
	} `json:"spec"`
	Status struct {
		Install *struct {
			Bundle struct {
				Name string `json:"name"`
			} `json:"bundle"`
		} `json:"install"`
		Conditions []metav1.Condition `json:"conditions"`
		Manager    Report             `json:"manager"`
	} `json:"status"`
}

// installed returns the name of the version that is installed, or an empty string.
func (x *Extension) installed() string {
	if x.Status.Install == nil {
		return ""
	}
	return x.Status.Install.Bundle.Name
}

// condition returns a condition, or an empty one.
func condition(all []metav1.Condition, kind string) metav1.Condition {
	for _, one := range all {
		if one.Type == kind {
			return one
		}
	}
	return metav1.Condition{}
}

// conditionProgressing says whether a ClusterExtension or a ClusterCatalog is as its spec asks for.
const (
	conditionProgressing = "Progressing"
	reasonSucceeded      = "Succeeded"
)

// ClusterCatalog is a catalog for ClusterExtensions.
type ClusterCatalog struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Source struct {
			Image struct {
				Ref string `json:"ref"`
			} `json:"image"`
		} `json:"source"`
	} `json:"spec"`
	Status struct {
		ResolvedSource struct {
			Image struct {
				Ref string `json:"ref"`
			} `json:"image"`
		} `json:"resolvedSource"`
		Conditions []metav1.Condition `json:"conditions"`
		Packages   int                `json:"packages"`
		Broken     []string           `json:"broken"`
	} `json:"status"`
}

// ReadExtensions reads the ClusterExtensions that install in the namespace, and the ClusterCatalogs if there are any of them. A cluster may not
// have these kinds. Users of one namespace usually may not read them, which counts only if a version of the namespace belongs to one.
func (s *State) ReadExtensions(ctx context.Context, client *kube.Client) error {
	lacks := s.Lacks
	var err error
	if s.Extensions, err = list[Extension](ctx, client, s, Extensions, metav1.NamespaceAll); err != nil {
		return ignoreNotInstalled(err)
	}
	if s.Namespace != "" {
		s.Extensions = slices.DeleteFunc(s.Extensions, func(one Extension) bool { return one.Spec.Namespace != s.Namespace })
		if len(s.Extensions) == 0 {
			if !slices.ContainsFunc(s.Versions, func(one Version) bool { return one.ExtensionOwner() != nil }) {
				s.Lacks = lacks
			}
			return nil
		}
	}
	s.ClusterCatalogs, err = list[ClusterCatalog](ctx, client, s, ClusterCatalogs, metav1.NamespaceAll)
	return ignoreNotInstalled(err)
}

// ReadNamed reads the namespace with everything that explains an object of a name. If the namespace has no such object, and a ClusterExtension has
// the name, it reads the namespace in which this one installs.
func ReadNamed(ctx context.Context, client *kube.Client, namespace, name string) (*State, error) {
	s, err := Read(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	if s.Subscription(namespace, name) == nil && s.version(namespace, name) == nil && s.Plan(namespace, name) == nil {
		if s, err = s.orExtension(ctx, client, name); err != nil {
			return nil, err
		}
	}
	if err := s.ReadExtensions(ctx, client); err != nil {
		return nil, err
	}
	return s, s.ReadWorkloads(ctx, client)
}

// orExtension returns the state of the namespace in which the ClusterExtension with a name installs, if there is one.
func (s *State) orExtension(ctx context.Context, client *kube.Client, name string) (*State, error) {
	found, err := client.Dynamic.Resource(Extensions).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		s.lack(Missing("get", Extensions, "", name))
		return s, nil
	case apierrors.IsNotFound(err):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("read ClusterExtension %s: %w", name, err)
	}
	extension, err := Decode[Extension](found)
	if err != nil || extension.Spec.Namespace == s.Namespace {
		return s, err
	}
	return Read(ctx, client, extension.Spec.Namespace)
}

func ignoreNotInstalled(err error) error {
	if errors.Is(err, ErrNotInstalled) {
		return nil
	}
	return err
}

// ExtensionOwner returns the reference to the ClusterExtension that a version says to belong to, or nil. It could be forged.
func (v *Version) ExtensionOwner() *metav1.OwnerReference {
	for i, by := range v.OwnerReferences {
		if by.Kind == kindExtension && by.APIVersion == Extensions.GroupVersion().String() {
			return &v.OwnerReferences[i]
		}
	}
	return nil
}

// extensionOf returns the ClusterExtension that installed a version, or nil.
func (s *State) extensionOf(of *Version) *Extension {
	by := of.ExtensionOwner()
	if by == nil {
		return nil
	}
	for i := range s.Extensions {
		if one := &s.Extensions[i]; one.UID == by.UID && one.Spec.Namespace == of.Namespace {
			return one
		}
	}
	return nil
}

// versionOf returns the version that a ClusterExtension has installed or is installing, or nil.
func (s *State) versionOf(of *Extension) *Version {
	var found *Version
	for i := range s.Versions {
		one := &s.Versions[i]
		if s.extensionOf(one) == of && (found == nil || one.Name != of.installed()) {
			found = one
		}
	}
	return found
}

// extended adds what the ClusterExtension of an operator says.
func (to *Operator) extended(by *Extension) {
	to.Package, to.Extension = by.Spec.Source.Catalog.PackageName, by.Name
	if deprecated := condition(by.Status.Conditions, conditionDeprecated); deprecated.Status == metav1.ConditionTrue {
		to.Deprecations = append(to.Deprecations, deprecated.Message)
	}
	switch progressing := condition(by.Status.Conditions, conditionProgressing); {
	case progressing.Type == "":
		to.Problems = append(to.Problems, "no lifecycle manager has reported on the ClusterExtension")
	case progressing.Reason != reasonSucceeded:
		to.Problems = append(to.Problems, progressing.Type+": "+progressing.Reason+": "+progressing.Message)
	}
}

// clusterCatalogState returns whether a ClusterCatalog can be used.
func clusterCatalogState(one *ClusterCatalog) CatalogState {
	serving, progressing := condition(one.Status.Conditions, "Serving"), condition(one.Status.Conditions, conditionProgressing)
	_, digest, _ := strings.Cut(one.Status.ResolvedSource.Image.Ref, "@")
	state := CatalogState{
		Kind: kindClusterCatalog, Name: one.Name, Image: one.Spec.Source.Image.Ref, Digest: digest, State: cmp.Or(serving.Reason, "unknown"),
		Packages: one.Status.Packages, Broken: one.Status.Broken,
	}
	if progressing.Reason != reasonSucceeded {
		state.Message = progressing.Message
	}
	return state
}
