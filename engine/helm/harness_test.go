package helm_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/testing/enginetest"
)

// shop is the operator of the project testdata/till.
type shop struct{ *enginetest.Operator }

func newShop(t *testing.T) *shop {
	t.Helper()
	return &shop{enginetest.New(t, "testdata/till", tillKind, func() []engine.Engine { return []engine.Engine{helm.Engine{}} })}
}

// template returns the path of a template in the project.
func template(name string) string { return "helm-charts/till/templates/" + name }

var tillKind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Till"}
