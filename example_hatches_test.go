package operon_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// A Box is a copy of a ConfigMap in another cluster, and follows it.
func ExampleCluster() {
	east, err := clientcmd.BuildConfigFromFlags("", "/etc/east/kubeconfig")
	if err != nil {
		panic(err)
	}
	operon.Main("box-operator", operon.API(addBox),
		operon.Cluster("east", east),
		operon.Manage(composing(func(ctx context.Context, b *Box, out *operon.Composition) error {
			source := config(b.Name, nil)
			found, err := out.In("east").Get(ctx, source)
			if err != nil || !found {
				return err
			}
			out.Child(config(b.Name, source.Data))
			return nil
		})),
	)
}

// A dry run for a Box whose child was changed by another client.
func ExamplePreview() {
	preview := operon.Preview{
		Kind: "Box", Namespace: "default", Name: "red",
		Actions: []operon.PreviewAction{
			{Verb: "repair", Kind: "ConfigMap", Namespace: "default", Name: "red", Fields: []string{"data.a"}, Why: "data.a (changed by kubectl-edit)"},
			{Verb: "create", Kind: "ConfigMap", Namespace: "other", Name: "red"},
		},
	}
	fmt.Println(preview.String())
	// Output:
	// Box default/red: repair ConfigMap red: data.a (changed by kubectl-edit)
	// Box default/red: create ConfigMap other/red
}

// A composer that starts something outside of the cluster does not start it in a dry run.
func ExampleComposition_DryRun() {
	show(func(b *Box, out *operon.Composition) error {
		if out.DryRun() {
			out.Wait("NotPainted", "the box would be painted")
			return nil
		}
		fmt.Println("paint", b.Name)
		return nil
	})
	// Output:
	// paint box
}

// A paused Box reports it, and catches up when it is resumed.
func Example_pause() {
	tell(compose(copies), boxCase{
		Object: box(map[string]string{"a": "1"}),
		Then: []boxStep{
			{Name: "a user pauses it and changes it", Do: []operontest.Change{operontest.Edit(box(nil), func(b *Box) {
				b.Annotations = map[string]string{"operon.dev/paused": "true"}
				b.Spec.Data["a"] = "2"
			})}},
			{Name: "and resumes it", Do: []operontest.Change{operontest.Edit(box(nil), func(b *Box) { b.Annotations = nil })}},
		},
	})
	// Output:
	// the object is created
	//   write create ConfigMap box
	//   write status Box box
	//   event Created: created ConfigMap box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// a user pauses it and changes it
	//   write status Box box
	//   event Paused: reconciliation is paused; remove annotation operon.dev/paused to resume
	//   Ready=True Ready: all resources are up to date and ready
	// and resumes it
	//   write change ConfigMap box
	//   write status Box box
	//   event Resumed: annotation operon.dev/paused was removed
	//   event Updated: updated: ConfigMap box
	//   Ready=True Ready: all resources are up to date and ready
}

// Another client overwrites a field as often as it is reverted: it is reverted with increasing backoff.
func Example_contested() {
	var steps []boxStep
	for range 4 {
		steps = append(steps, boxStep{Name: "another client changes it", Do: []operontest.Change{
			operontest.Edit(config("box", nil), func(c *corev1.ConfigMap) { c.Data["a"] = "2" }),
		}})
	}
	steps = append(steps, boxStep{Name: "nothing changes for ten minutes", Wait: 10 * time.Minute})
	tell(compose(copies), boxCase{Object: box(map[string]string{"a": "1"}), Then: steps})
	// Output:
	// the object is created
	//   write create ConfigMap box
	//   write status Box box
	//   event Created: created ConfigMap box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// another client changes it
	//   write change ConfigMap box
	//   event Repaired: reverted drift in ConfigMap box: data.a (changed by somebody)
	//   Ready=True Ready: all resources are up to date and ready
	// another client changes it
	//   write change ConfigMap box
	//   event Repaired: reverted drift in ConfigMap box: data.a (changed by somebody)
	//   Ready=True Ready: all resources are up to date and ready
	// another client changes it
	//   write change ConfigMap box
	//   write status Box box
	//   event Repaired: reverted drift in ConfigMap box: data.a (changed by somebody)
	//   event Contested: somebody keeps changing data.a of ConfigMap box; reverting it with backoff, up to 1m
	//   Ready=False Contested: somebody keeps changing data.a of ConfigMap box; reverting it with backoff, up to 1m
	// another client changes it
	//   Ready=False Contested: somebody keeps changing data.a of ConfigMap box; reverting it with backoff, up to 1m
	// nothing changes for ten minutes
	//   write change ConfigMap box
	//   write status Box box
	//   event Repaired: reverted drift in ConfigMap box: data.a (changed by somebody)
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// renamed is an operator of Boxes that used other names for its ConfigMaps before version 2.
type renamed struct{ compose }

var _ operon.Upgrader[*Box] = renamed{}

// Upgrade keeps the data of the ConfigMap with the old name, because a user may have edited it.
func (renamed) Upgrade(ctx context.Context, b *Box, from *operon.UpgradeContext) error {
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
		return fmt.Errorf("keep the data of %s: %w", old.Name, err)
	}
	return nil
}

// Version 2 of an operator: it upgrades the objects of version 1, and migrates the stored objects of a kind whose CRD has a new
// storage version.
func ExampleUpgrader() {
	operon.Main("box-operator",
		operon.Version("2.0.0"),
		operon.API(addBox),
		operon.Manage(renamed{copies}, operon.MigrateStorage()),
	)
}

// A kubebuilder project moves to Operon kind by kind: its manager gets a composer for one kind, and keeps its reconcilers for the
// others.
func ExampleAddToManager() {
	setup := func(manager ctrl.Manager) error {
		return operon.AddToManager(manager, "box-operator", compose(func(b *Box, out *operon.Composition) error {
			out.Child(config(b.Name, b.Spec.Data))
			return nil
		}))
	}
	_ = setup // called by main, before the manager starts
}

// quotas is a composer of Namespaces, a kind that is not its own: it labels each that has an owner, and gives it a ResourceQuota.
type quotas struct{}

func (quotas) Compose(_ context.Context, n *corev1.Namespace, out *operon.Composition) error {
	team := n.Annotations["example.com/team"]
	if team == "" {
		return nil // the label and the ResourceQuota are removed, if they exist
	}
	out.Label("example.com/team", team)
	out.Annotate("example.com/quota", "default")
	out.Child(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: n.Name},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")}},
	})
	return nil
}

// An operator of a built-in kind: labels, annotations and children of each Namespace.
func ExampleWithoutStatus() {
	operon.Main("quota-operator", operon.Manage(quotas{}, operon.WithoutStatus()))
}
