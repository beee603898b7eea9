package check_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

// An API server accepts all definitions that were converted from v1beta1. It accepts and keeps the samples of the bundle, or rejects or prunes
// them as the linter says.
func TestServerAcceptsConvertedDefinitions(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	type defined struct {
		*bundle.Bundle
		dir string
	}
	var all []defined // an API server takes a while to serve a kind: the others are created meanwhile
	for _, one := range bundles.Definitions() {
		dir := filepath.Join(t.TempDir(), one.Name)
		one.Write(t, dir)
		b, err := bundle.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(one.Errors, "bundle-format") {
			if b.CRDs[0].Typed != nil {
				t.Errorf("%s was converted", one.Name)
			}
			continue
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b.CRDs[0].Typed)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{Object: fields}
		unstructured.RemoveNestedField(crd.Object, "status")
		if _, err := client.Resource(kube.CRDs).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		t.Cleanup(func() {
			if err := client.Resource(kube.CRDs).Delete(context.WithoutCancel(t.Context()), crd.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		all = append(all, defined{b, dir})
	}
	ends := map[sampleEnd]int{}
	for _, one := range all {
		want, got := linted(t, one.dir), served(t, client, env.Namespace, one.Bundle)
		if want != got {
			t.Errorf("%s: by the linter, the sample is %s, by the server, it is %s", one.CSV.Name, want, got)
		}
		ends[got]++
	}
	if ends[kept] < 20 || ends[rejected] == 0 || ends[pruned] == 0 {
		t.Errorf("of the samples are %v", ends)
	}
}

// sampleEnd is what becomes of a sample.
type sampleEnd string

const (
	kept     sampleEnd = "kept"
	pruned   sampleEnd = "pruned"
	rejected sampleEnd = "rejected"
)

// linted returns what becomes of the sample of a bundle according to the linter.
func linted(t *testing.T, dir string) sampleEnd {
	t.Helper()
	report, err := bundle.Lint([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	end := kept
	for _, one := range report.Findings {
		switch {
		case one.Rule != "csv-samples":
		case strings.HasSuffix(one.Message, "is unknown, and dropped"):
			end = pruned
		default:
			return rejected
		}
	}
	return end
}

// served creates the sample of a bundle and returns what becomes of it.
func served(t *testing.T, client dynamic.Interface, namespace string, b *bundle.Bundle) sampleEnd {
	t.Helper()
	var samples []*unstructured.Unstructured
	if err := json.Unmarshal([]byte(b.Object.GetAnnotations()["alm-examples"]), &samples); err != nil || len(samples) != 1 {
		t.Fatalf("%s has %d samples, error %v", b.CSV.Name, len(samples), err)
	}
	sample := samples[0]
	of := client.Resource(sample.GroupVersionKind().GroupVersion().WithResource("things")).Namespace(namespace)
	end := rejected
	localtest.Eventually(t, "the kind of "+b.CSV.Name+" is served", func(ctx context.Context) error {
		_, err := of.Create(ctx, sample, metav1.CreateOptions{})
		switch {
		case apierrors.IsInvalid(err):
			return nil
		case err != nil:
			return err
		}
		stored, err := of.Get(ctx, sample.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		end = pruned
		if equality.Semantic.DeepEqual(stored.Object["spec"], sample.Object["spec"]) {
			end = kept
		}
		return of.Delete(ctx, sample.GetName(), metav1.DeleteOptions{})
	})
	return end
}
