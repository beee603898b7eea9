package helm

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// revisionOf returns the revision of a release from the status, or from the release Secrets of an earlier operator, and the revision
// if what is rendered differs. They are equal if there is no revision yet, or if Helm made a newer one.
func (c *composer) revisionOf(ctx context.Context, object *engine.Object, reader Reader) (now, next int64, err error) {
	if recorded := object.Status.DeployedRelease; recorded != nil {
		now = max(1, recorded.Revision)
	}
	if c.storage == nil && !takenOver(object) {
		return max(1, now), now + 1, nil
	}
	foreign, err := foreignRevision(ctx, object, reader)
	switch {
	case err != nil:
		return 0, 0, err
	case takenOver(object):
		now = max(now, foreign)
		return now, now + 1, nil
	case foreign > now:
		return foreign + 1, foreign + 1, nil
	}
	return max(1, now), now + 1, nil
}

// foreignRevision returns the highest revision in release Secrets that this engine did not write, or 0.
func foreignRevision(ctx context.Context, object *engine.Object, reader Reader) (int64, error) {
	secrets, err := releaseSecrets(ctx, object, reader)
	if err != nil {
		return 0, err
	}
	var highest int64
	for i := range secrets {
		if secrets[i].Annotations[digestAnnotation] == "" {
			highest = max(highest, versionOf(object, &secrets[i]))
		}
	}
	return highest, nil
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
