package olm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// The resources of OLM v1. They are cluster-scoped.
var (
	Extensions      = schema.GroupVersionResource{Group: "olm.operatorframework.io", Version: "v1", Resource: "clusterextensions"}
	clusterCatalogs = schema.GroupVersionResource{Group: "olm.operatorframework.io", Version: "v1", Resource: "clustercatalogs"}
)

// Extension is a ClusterExtension: it keeps a package installed for the whole cluster.
type Extension struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Namespace string `json:"namespace"`
		Source    struct {
			Catalog struct {
				PackageName string `json:"packageName"`
			} `json:"catalog"`
		} `json:"source"`
	} `json:"spec"`
	Status struct {
		Install struct {
			Bundle struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"bundle"`
		} `json:"install"`
		Conditions []metav1.Condition `json:"conditions"`
		Manager    Report             `json:"manager"`
	} `json:"status"`
}

// bundle returns the name of the version that is installed, or an empty string.
func (x *Extension) bundle() string { return x.Status.Install.Bundle.Name }

// conditionProgressing has the reason reasonSucceeded if a ClusterExtension or a ClusterCatalog matches its spec.
const (
	conditionProgressing = "Progressing"
	reasonSucceeded      = "Succeeded"
)

// ClusterCatalog is a catalog for ClusterExtensions.
type ClusterCatalog struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Source imageSource `json:"source"`
	} `json:"spec"`
	Status struct {
		ResolvedSource imageSource        `json:"resolvedSource"`
		Conditions     []metav1.Condition `json:"conditions"`
		Packages       int                `json:"packages"`
		Broken         []string           `json:"broken"`
	} `json:"status"`
}

type imageSource struct {
	Image struct {
		Ref string `json:"ref"`
	} `json:"image"`
}

// ReadExtensions reads the ClusterExtensions that install in the namespace, and their ClusterCatalogs. A cluster may lack these kinds. Users of
// one namespace usually may not read them: that is recorded only if a version of the namespace belongs to a ClusterExtension.
func (s *State) ReadExtensions(ctx context.Context, client *kube.Client) error {
	lacks := s.Lacks
	all, err := list[Extension](ctx, client, s, Extensions, metav1.NamespaceAll)
	if err != nil {
		return ignoreNotInstalled(err)
	}
	s.Extensions = slices.DeleteFunc(all, func(one Extension) bool { return s.Namespace != "" && one.Spec.Namespace != s.Namespace })
	if s.Namespace != "" && len(s.Extensions) == 0 {
		if !slices.ContainsFunc(s.Versions, func(one Version) bool { return one.ExtensionOwner() != nil }) {
			s.Lacks = lacks
		}
		return nil
	}
	s.ClusterCatalogs, err = list[ClusterCatalog](ctx, client, s, clusterCatalogs, metav1.NamespaceAll)
	return ignoreNotInstalled(err)
}

func ignoreNotInstalled(err error) error {
	if errors.Is(err, ErrNotInstalled) {
		return nil
	}
	return err
}

// ReadNamed reads what explains the object with a name: the namespace, or that of the ClusterExtension with the name if the namespace has no
// such object.
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
	if err != nil {
		return nil, err
	}
	if extension.Spec.Namespace != s.Namespace {
		if s, err = Read(ctx, client, extension.Spec.Namespace); err != nil {
			return nil, err
		}
	}
	s.Extensions = []Extension{*extension}
	return s, nil
}

// Extension returns a ClusterExtension, or nil.
func (s *State) Extension(name string) *Extension {
	return find(s.Extensions, "", name, func(x *Extension) (string, string) { return "", x.Name })
}

// ExtensionOwner returns the owner reference to a ClusterExtension, or nil. Users can write it, so compare the UID with that of the object.
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

// versionOf returns the version that a ClusterExtension is installing, or else the one that it has installed, or nil.
func (s *State) versionOf(of *Extension) *Version {
	var found *Version
	for i := range s.Versions {
		one := &s.Versions[i]
		if s.extensionOf(one) == of && (found == nil || one.Name != of.bundle()) {
			found = one
		}
	}
	return found
}

// withoutCSV returns what is known about the operator of a ClusterExtension without a version that can be read, as with the manager of OLM v1.
func withoutCSV(of *Extension) Operator {
	found := Operator{Namespace: of.Spec.Namespace, CSV: of.bundle(), Version: of.Status.Install.Bundle.Version}
	if installed := meta.FindStatusCondition(of.Status.Conditions, "Installed"); installed != nil && found.CSV != "" {
		found.Phase = installed.Reason
	}
	found.extended(of)
	return found
}

// extended adds what is known from the ClusterExtension of an operator.
func (o *Operator) extended(by *Extension) {
	o.Package, o.Extension = by.Spec.Source.Catalog.PackageName, by.Name
	if deprecated := meta.FindStatusCondition(by.Status.Conditions, conditionDeprecated); deprecated != nil && deprecated.Status == metav1.ConditionTrue {
		o.Deprecations = append(o.Deprecations, deprecated.Message)
	}
	switch progressing := meta.FindStatusCondition(by.Status.Conditions, conditionProgressing); {
	case progressing == nil:
		o.Problems = append(o.Problems, "no lifecycle manager has reported on the ClusterExtension")
	case progressing.Reason != reasonSucceeded:
		o.Problems = append(o.Problems, progressing.Type+": "+progressing.Reason+": "+progressing.Message)
	}
}

// clusterCatalogState returns whether a ClusterCatalog can be used.
func clusterCatalogState(one *ClusterCatalog) CatalogState {
	_, digest, _ := strings.Cut(one.Status.ResolvedSource.Image.Ref, "@")
	state := CatalogState{
		Kind: kindClusterCatalog, Name: one.Name, Image: one.Spec.Source.Image.Ref, Digest: digest, State: "unknown",
		Packages: one.Status.Packages, Broken: one.Status.Broken,
	}
	if serving := meta.FindStatusCondition(one.Status.Conditions, "Serving"); serving != nil {
		state.State = cmp.Or(serving.Reason, state.State)
	}
	if progressing := meta.FindStatusCondition(one.Status.Conditions, conditionProgressing); progressing != nil && progressing.Reason != reasonSucceeded {
		state.Message = progressing.Message
	}
	return state
}
