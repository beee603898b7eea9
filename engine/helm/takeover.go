package helm

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/operon-framework/operon/engine"
)

// retired contains the finalizers of Operator SDK's Helm operator.
var retired = []string{"helm.sdk.operatorframework.io/uninstall-release", "uninstall-helm-release"}

// takenOver reports whether the status was written by another Helm operator.
func takenOver(object *engine.Object) bool {
	recorded := object.Status.DeployedRelease
	return recorded != nil && recorded.Name != "" && recorded.Digest == ""
}

// revisionOf returns the revision of a release from the status, or from the release Secrets of an earlier operator, or 1.
func revisionOf(ctx context.Context, object *engine.Object, reader Reader) (int64, error) {
	revision := int64(1)
	if recorded := object.Status.DeployedRelease; recorded != nil {
		revision = max(revision, recorded.Revision)
	}
	if !takenOver(object) {
		return revision, nil
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("SecretList"))
	secrets.APIVersion = "v1"
	if err := reader.List(ctx, secrets, client.MatchingLabels{"owner": "helm", "name": object.Name}); err != nil {
		return 0, fmt.Errorf("list the release Secrets of the earlier operator: %w", err)
	}
	for _, secret := range secrets.Items {
		if version, err := strconv.ParseInt(secret.Labels["version"], 10, 64); err == nil {
			revision = max(revision, version)
		}
	}
	return revision, nil
}

// earlier returns the objects that an earlier Helm operator created for an object, by keyOf. They become children.
func earlier(object *engine.Object) (map[string]bool, error) {
	if !takenOver(object) {
		return nil, nil
	}
	var errs []error
	created := map[string]bool{}
	for _, document := range releaseutil.SplitManifests(object.Status.DeployedRelease.Manifest) {
		objects, err := parse(document)
		errs = append(errs, err)
		for _, o := range objects {
			created[keyOf(o)] = true
		}
	}
	return created, errors.Join(errs...)
}

// keyOf returns a key for a rendered object.
func keyOf(object *unstructured.Unstructured) string {
	return object.GroupVersionKind().GroupKind().String() + "/" + object.GetNamespace() + "/" + object.GetName()
}
