package aggregatedtest_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"
	"github.com/operon-framework/operon/aggregated/aggregatedtest"
)

var version = schema.GroupVersion{Group: "identity.example.com", Version: "v1alpha1"}

// WhoAmI asks which user sent the request. It is answered and not stored.
type WhoAmI struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	User string `json:"user,omitempty"`
}

// DeepCopyObject implements runtime.Object. In your project, controller-gen generates it.
func (w *WhoAmI) DeepCopyObject() runtime.Object {
	out := *w
	w.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func addWhoAmI(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(version, &WhoAmI{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// identity answers.
type identity struct{}

func (identity) Create(ctx context.Context, w *WhoAmI) (*WhoAmI, error) {
	w.User = aggregated.User(ctx).GetName()
	return w, nil
}

// A test asks through the cluster's API server, as kubectl does.
func ExampleServe() {
	var t *testing.T // the parameter of your test
	env, _ := aggregatedtest.Serve(t, aggregated.Serve(addWhoAmI,
		aggregated.Review(identity{}, aggregated.Resource[*WhoAmI]{ClusterScoped: true}),
	), version)
	scheme := runtime.NewScheme()
	if err := addWhoAmI(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	answer := &WhoAmI{}
	if err := c.Create(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	if answer.User == "" {
		t.Error("the user is empty")
	}
}
