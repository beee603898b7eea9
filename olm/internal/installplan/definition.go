package installplan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/tools/crdcompat"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
)

// definition declares a CustomResourceDefinition. One that exists is only changed if all stored objects survive, and no stored version is
// removed. Plans of several namespaces may have the same one, which the first of them writes. It stays as the newest of the operators needs it.
func (c *Composer) definition(ctx context.Context, w *writing, csv *v1alpha1.ClusterServiceVersion, wanted *unstructured.Unstructured) error {
	of, p, out := w.of, w.pass, w.out
	group, _, _ := unstructured.NestedString(wanted.Object, "spec", "group")
	if err := contents.ReservedGroup(wanted.GetName(), group); err != nil {
		return refusal{ReasonForeignObject, err.Error()}
	}
	digest, err := digestOf(wanted)
	if err != nil {
		return err
	}
	live := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: wanted.GetName()}}
	exists, err := out.Get(ctx, live)
	if err != nil {
		return err
	}
	judged := wanted
	if contents.HasConversion(csv, wanted.GetName()) {
		judged = wanted.DeepCopy()
		annotate(judged, crdcompat.ConversionAnnotation, "operator")
		if err := contents.KeepStored(wanted, live, csv.Name); err != nil {
			return err
		}
	}
	w.begun = w.begun || exists && isChild(live, of)
	if !exists || isChild(live, of) {
		p.later(func() { out.Child(wanted, operon.Orphan()) })
		return nil
	}
	newer, err := w.unowned(ctx, csv, wanted, live)
	if err != nil {
		return err
	}
	if newer {
		p.existed(wanted)
		return nil
	}
	report, err := crdcompat.Check(ctx, c.config, nil, judged)
	if apierrors.IsForbidden(err) {
		return c.readStored(ctx, of, wanted, p, out)
	}
	if err != nil {
		return fmt.Errorf("check what CustomResourceDefinition %s does to stored objects: %w", wanted.GetName(), err)
	}
	if text := unsafe(report); text != "" {
		return refusal{ReasonUnsafeCRD, text}
	}
	p.existed(wanted)
	if live.GetAnnotations()[contents.AnnotationDigest] == digest && unchanged(report) { // another plan wrote it, and nobody changed it since
		return nil
	}
	p.later(func() { out.Child(wanted, operon.Orphan(), operon.Adopt()) })
	return nil
}

// unsafe returns what a change would do to stored objects, and what to do about it, or "" if all of them stay valid.
func unsafe(report *crdcompat.Report) string {
	var all []string
	for _, one := range report.Definitions {
		for _, finding := range one.Findings {
			if !finding.Invalidates() {
				continue
			}
			_, text, _ := strings.Cut(strings.ReplaceAll(finding.String(), "\n    ", ": "), " ")
			if finding.Count > 0 {
				text += ": change or delete these objects"
			}
			all = append(all, fmt.Sprintf("CustomResourceDefinition %s: %s", one.Name, text))
		}
	}
	return strings.Join(all, "; ")
}

func unchanged(report *crdcompat.Report) bool {
	return !slices.ContainsFunc(report.Definitions, func(one *crdcompat.Result) bool { return one.State != crdcompat.Unchanged })
}

// Live reads the metadata of an object as it exists, and reports whether it does.
func Live(ctx context.Context, out *operon.Composition, object client.Object) (*metav1.PartialObjectMetadata, bool, error) {
	live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	live.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	found, err := out.Get(ctx, live)
	return live, found, err
}

// digestOf writes the digest of a definition into its annotations.
func digestOf(wanted *unstructured.Unstructured) (string, error) {
	content, err := json.Marshal(wanted.Object["spec"])
	if err != nil {
		return "", fmt.Errorf("encode the CustomResourceDefinition %s: %w", wanted.GetName(), err)
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:16])
	annotate(wanted, contents.AnnotationDigest, digest)
	return digest, nil
}
