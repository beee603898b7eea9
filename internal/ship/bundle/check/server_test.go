package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/testing/bundles"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

// An API server accepts all definitions that were converted from v1beta1.
func TestServerAcceptsConvertedDefinitions(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	created := 0
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
		if _, err := client.Resource(kube.CRDs).Create(t.Context(), crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		created++
	}
	if created < 20 {
		t.Errorf("only %d definitions were accepted", created)
	}
}
