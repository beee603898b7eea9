package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
	"github.com/operon-framework/operon/examples/vmgroup/vcenter/simulated"
)

// Regardless of the injected faults, the operator converges to the same state. The vCenter belongs to the test, so it outlives
// the operators that are killed. Which machines remain is checked by TestKilledWhileScaling: many plans end before their
// objects are deleted.
func TestReliable(t *testing.T) {
	t.Parallel()
	v := simulated.Start(t)
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac", Setup: secretFile(t, v),
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "vmgroup-operator", config, operon.Config{Namespace: namespace},
				operon.API(v1alpha1.AddToScheme), operon.Manage(VMGroups{}))
		},
	})
}

// secretFile writes the Secret with the access to a vCenter to a file that only this user can read.
func secretFile(t *testing.T, v *simulated.VCenter) string {
	t.Helper()
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "vc-creds"}, Data: v.Secret(),
	}
	data, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
