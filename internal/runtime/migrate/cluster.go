package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is the number of objects per list request. Only metadata is listed.
const pageSize = 500

// definitionsGroup and definitionsResource identify CustomResourceDefinitions.
const (
	definitionsGroup    = apiextensionsv1.GroupName
	definitionsResource = "customresourcedefinitions"
)

// Cluster is the access of a migration of one kind to a cluster.
type Cluster struct {
	// Client must not read from a cache.
	Client client.Client
	// Kind is a served version of the kind.
	Kind schema.GroupVersionKind
	// Manager is the field manager of writes.
	Manager string
	// Marks is the Lease that stores the progress of migrations.
	Marks types.NamespacedName
}

// New returns the migration of a cluster's objects of one kind.
func New(c *Cluster) *Migration {
	return &Migration{Definitions: c, Objects: c, Marks: marks{c}, Kind: c.Kind.Kind}
}

func (c *Cluster) mapping() (*meta.RESTMapping, error) {
	return c.Client.RESTMapper().RESTMapping(c.Kind.GroupKind(), c.Kind.Version)
}

// Read implements Definitions.
func (c *Cluster) Read(ctx context.Context) (Definition, error) {
	loose, crd, err := c.read(ctx)
	if err != nil {
		return Definition{}, err
	}
	return describe(loose, crd), nil
}

func (c *Cluster) read(ctx context.Context) (*unstructured.Unstructured, *apiextensionsv1.CustomResourceDefinition, error) {
	mapping, err := c.mapping()
	if err != nil {
		return nil, nil, err
	}
	loose, crd := &unstructured.Unstructured{}, &apiextensionsv1.CustomResourceDefinition{}
	loose.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	name := mapping.Resource.GroupResource().String()
	if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, loose); err != nil {
		return nil, nil, lacking(err, &MissingError{definitionsGroup, definitionsResource, name, "get"})
	}
	return loose, crd, runtime.DefaultUnstructuredConverter.FromUnstructured(loose.Object, crd)
}

// describe returns the data of a definition that matters for a migration.
func describe(loose *unstructured.Unstructured, crd *apiextensionsv1.CustomResourceDefinition) Definition {
	d := Definition{
		Name: crd.Name, Identity: fmt.Sprintf("%s/%d", crd.UID, crd.Generation), Stored: crd.Status.StoredVersions, Changed: Changed(loose),
	}
	d.Converted = crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			d.Storage = version.Name
		}
	}
	return d
}

// Changed returns the time of the last change of an object outside its status, in whole seconds.
func Changed(object metav1.Object) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, entry := range object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// Strike implements Definitions.
func (c *Cluster) Strike(ctx context.Context, d Definition) error {
	loose, crd, err := c.read(ctx)
	if err != nil {
		return err
	}
	if now := describe(loose, crd); now.Identity != d.Identity {
		return apierrors.NewConflict(schema.GroupResource{Group: definitionsGroup, Resource: definitionsResource}, d.Name, errors.New("it was changed meanwhile"))
	}
	if err := unstructured.SetNestedStringSlice(loose.Object, []string{d.Storage}, "status", "storedVersions"); err != nil {
		return err
	}
	err = c.Client.Status().Update(ctx, loose, client.FieldOwner(c.Manager))
	return lacking(err, missingStrike(d))
}

func missingStrike(d Definition) *MissingError {
	return &MissingError{definitionsGroup, definitionsResource + "/status", d.Name, "update"}
}

// MayStrike implements Definitions. It checks the permission before objects are written in vain. If the check itself is not
// permitted, the attempt shows the result.
func (c *Cluster) MayStrike(ctx context.Context, d Definition) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: definitionsGroup, Version: "v1", Resource: definitionsResource, Subresource: "status", Name: d.Name, Verb: "update",
		},
	}}
	if err := c.Client.Create(ctx, review); err != nil {
		return client.IgnoreNotFound(ignoreForbidden(err))
	}
	if !review.Status.Allowed {
		return missingStrike(d)
	}
	return nil
}

// List implements Objects. It reads only metadata.
func (c *Cluster) List(ctx context.Context, next string) (Page, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(c.Kind.GroupVersion().WithKind(c.Kind.Kind + "List"))
	if err := c.Client.List(ctx, list, client.Limit(pageSize), client.Continue(next)); err != nil {
		return Page{}, c.lacking(err, "list")
	}
	page := Page{At: list.ResourceVersion, Next: list.Continue}
	if list.RemainingItemCount != nil {
		page.Remaining = *list.RemainingItemCount
	}
	for _, object := range list.Items {
		page.Objects = append(page.Objects, Object{object.Namespace, object.Name, string(object.UID), object.ResourceVersion})
	}
	return page, nil
}

// Rewrite implements Objects. It sends a patch that changes nothing of the object as it was listed. The API server writes the
// object only if the encoding to store differs from the stored one. It differs if the version is another one.
func (c *Cluster) Rewrite(ctx context.Context, object Object) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}})
	if err != nil {
		return err
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(c.Kind)
	target.Namespace, target.Name = object.Namespace, object.Name
	return c.lacking(c.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(c.Manager)), "patch")
}

// lacking returns an error with the rule that a rejected request for an object needs.
func (c *Cluster) lacking(err error, verb string) error {
	mapping, unmapped := c.mapping()
	if unmapped != nil {
		return err
	}
	return lacking(err, &MissingError{mapping.Resource.Group, mapping.Resource.Resource, "", verb})
}

func lacking(err error, missing *MissingError) error {
	if apierrors.IsForbidden(err) {
		return missing
	}
	return err
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// marks stores marks as annotations of a Lease.
type marks struct{ *Cluster }

// annotation returns the annotation key for a definition.
func annotation(name string) string { return "migration.operon.dev/" + name }

// Load implements Marks.
func (m marks) Load(ctx context.Context, name string) (Mark, error) {
	lease := &coordinationv1.Lease{}
	if err := m.Client.Get(ctx, m.Cluster.Marks, lease); err != nil {
		return Mark{}, client.IgnoreNotFound(err)
	}
	return parseMark(lease.Annotations[annotation(name)]), nil
}

// Save implements Marks. The Lease is deleted with its last mark.
func (m marks) Save(ctx context.Context, name string, mark Mark) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: m.Cluster.Marks.Namespace, Name: m.Cluster.Marks.Name}}
	err := m.Client.Get(ctx, m.Cluster.Marks, lease)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotation(name)] = mark.String()
	if mark == (Mark{}) {
		delete(lease.Annotations, annotation(name))
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	if apierrors.IsNotFound(err) {
		return m.Client.Create(ctx, lease, client.FieldOwner(m.Manager))
	}
	return m.Client.Update(ctx, lease, client.FieldOwner(m.Manager))
}
