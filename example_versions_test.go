package operon_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// renamed is an operator of Boxes that called its ConfigMaps otherwise before version 2.
type renamed struct{ compose }

// Upgrade takes the data over from the ConfigMap of the old name, as somebody may have edited it.
func (renamed) Upgrade(ctx context.Context, b *Box, from *operon.Upgrading) error {
	if !from.Before("2.0.0") {
		return nil
	}
	old := &corev1.ConfigMap{}
	err := from.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: "box-" + b.Name}, old)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name + "-kept"}, Data: old.Data}
	if err := client.IgnoreAlreadyExists(from.Client.Create(ctx, kept)); err != nil {
		return fmt.Errorf("keep what is in %s: %w", old.Name, err)
	}
	return nil
}

// Version 2 of an operator: it upgrades the objects of version 1, and the storage of a kind whose
// definition has a new version.
func ExampleUpgrader() {
	operon.Main("box-operator",
		operon.Version("2.0.0"),
		operon.API(addBox),
		operon.Manage(renamed{copies}, operon.MigrateStorage()),
	)
}
