package operon_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/operontest"
)

// A box is ready when its ConfigMaps exist. A ConfigMap that is no longer declared is deleted.
func Example() {
	tell(compose(func(b *Box, out *operon.Composition) error {
		for name, value := range b.Spec.Data {
			out.Child(config(name, map[string]string{"value": value}))
		}
		return nil
	}), boxCase{
		Object: box(map[string]string{"color": "red"}),
		Then: []boxStep{{
			Name: "a user removes the color",
			Do:   []operontest.Change{operontest.Edit(box(nil), func(b *Box) { b.Spec.Data = nil })},
		}},
	})
	// Output:
	// the object is created
	//   write create ConfigMap color
	//   write status Box box
	//   event Created: created ConfigMap color
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// a user removes the color
	//   write delete ConfigMap color
	//   write status Box box
	//   event Pruned: deleted because no longer declared: ConfigMap color
	//   Ready=True Ready: all resources are up to date and ready
}

// The web server is created when the database is ready, and deleted before it.
func ExampleAfter() {
	database, web := config("database", nil), config("web", nil)
	tell(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(database, operon.ReadyWhen(isUp))
		out.Child(web, operon.After(database))
		return nil
	}), boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "the database comes up", Do: []operontest.Change{comesUp(database)}}},
	})
	// Output:
	// the object is created
	//   write change Box box
	//   write create ConfigMap database
	//   write status Box box
	//   event Created: created ConfigMap database
	//   Ready=False WaitingForChild: ConfigMap web waits until ConfigMap database is ready: it is not up to date yet
	// the database comes up
	//   write create ConfigMap web
	//   write status Box box
	//   event Created: created ConfigMap web
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// A function decides when a child is ready, for kinds that kstatus does not know.
func ExampleReadyWhen() {
	database := config("database", nil)
	tell(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(database, operon.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
			up, _, _ := unstructured.NestedString(live.Object, "data", "up")
			return up == "yes", "it is down"
		}))
		return nil
	}), boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "the database comes up", Do: []operontest.Change{comesUp(database)}}},
	})
	// Output:
	// the object is created
	//   write create ConfigMap database
	//   write status Box box
	//   event Created: created ConfigMap database
	//   Ready=False ChildNotReady: ConfigMap database: it is down
	// the database comes up
	//   write status Box box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// A CEL expression decides it, as in CRDs and admission policies.
func ExampleReadyWhen_expression() {
	show(func(b *Box, out *operon.Composition) error {
		out.Child(config("database", b.Spec.Data), cel.ReadyWhen("self.data.up == 'yes'"))
		return nil
	})
	// Output:
	// # ready when: self.data.up == 'yes'
	// apiVersion: v1
	// data:
	//   color: red
	// kind: ConfigMap
	// metadata:
	//   name: database
}

// The ConfigMap is immutable: to change its data, it is deleted and recreated. Without Replace, the object
// would be Stalled with the reason ImmutableField.
func ExampleReplace() {
	show(func(b *Box, out *operon.Composition) error {
		out.Child(immutable("paint", b.Spec.Data), operon.Replace())
		return nil
	})
	// Output:
	// # replace: deleted and recreated to change an immutable field
	// apiVersion: v1
	// data:
	//   color: red
	// immutable: true
	// kind: ConfigMap
	// metadata:
	//   name: paint
}

// The ConfigMap was created by hand before the operator was installed.
func ExampleAdopt() {
	c := boxCase{
		Given:  []client.Object{config("legacy", map[string]string{"color": "blue"})},
		Object: box(nil),
	}
	child := config("legacy", map[string]string{"color": "red"})
	fmt.Println("Without Adopt,")
	tell(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(child)
		return nil
	}), c)
	fmt.Println("With Adopt,")
	tell(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(child, operon.Adopt())
		return nil
	}), c)
	// Output:
	// Without Adopt,
	// the object is created
	//   write status Box box
	//   event Conflict: ConfigMap legacy exists already and was not created by this operator; it is left alone
	//   Ready=False Conflict: ConfigMap legacy exists already and was not created by this operator; it is left alone
	// With Adopt,
	// the object is created
	//   write change ConfigMap legacy
	//   write status Box box
	//   event Adopted: adopted ConfigMap legacy, which exists already and was not created by this operator
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// The backup outlives the box.
func ExampleOrphan() {
	tell(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(config("backup", nil), operon.Orphan())
		return nil
	}), boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "the box is deleted", Do: []operontest.Change{operontest.Delete(box(nil))}}},
	})
	// Output:
	// the object is created
	//   write change Box box
	//   write create ConfigMap backup
	//   write status Box box
	//   event Created: created ConfigMap backup
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// the box is deleted
	//   write change ConfigMap backup
	//   write status Box box
	//   write change Box box
	//   event Released: released ConfigMap backup, which has an owner that is being deleted
	//   event Deleting: waits until ConfigMap backup is released
	//   gone
}

// Without a license, only a part can be composed. Existing children are kept in the meantime.
func ExampleComposition_Wait() {
	tell(compose(func(b *Box, out *operon.Composition) error {
		out.Child(config("free", nil))
		if b.Spec.Data["license"] == "" {
			out.Wait("NoLicense", "waits for spec.data.license")
			return nil
		}
		out.Child(config("paid", nil))
		return nil
	}), boxCase{
		Object: box(nil),
		Then: []boxStep{{
			Name: "a user buys a license",
			Do:   []operontest.Change{operontest.Edit(box(nil), func(b *Box) { b.Spec.Data = map[string]string{"license": "1"} })},
		}},
	})
	// Output:
	// the object is created
	//   write create ConfigMap free
	//   write status Box box
	//   event Created: created ConfigMap free
	//   Ready=False NoLicense: waits for spec.data.license
	// a user buys a license
	//   write create ConfigMap paid
	//   write status Box box
	//   event Created: created ConfigMap paid
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// One Box at a time, because they share something that cannot be used concurrently.
func ExampleConcurrency() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Manage(compose(copies), operon.Concurrency(1)),
	)
}

// kubectl can find the objects that belong to a Box: kubectl apply --prune --applyset.
func ExampleApplySets() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Manage(compose(copies), operon.ApplySets()),
	)
}

// A Box is reconciled at most ten times in a burst, and then every five seconds.
func ExampleRateLimit() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Manage(compose(copies), operon.RateLimit(10, 5*time.Second)),
	)
}

// labeled reports in the status of a Box which ConfigMaps have its name as a label.
type labelled struct{}

func (labelled) Compose(context.Context, *Box, *operon.Composition) error { return nil }

func (labelled) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	var found corev1.ConfigMapList
	if err := seen.List(ctx, &found, client.MatchingLabels{"box": b.Name}); err != nil {
		return err
	}
	b.Status.Seen = nil
	for _, c := range found.Items {
		b.Status.Seen = append(b.Status.Seen, c.Name)
	}
	return nil
}

// Objects that Observe lists are watched: the Box is reconciled again when one is created.
func ExampleObserved_List() {
	lid := config("lid", nil)
	lid.Labels = map[string]string{"box": "box"}
	tell(labelled{}, boxCase{
		Object: box(nil),
		Then: []boxStep{
			{Name: "a lid appears", Do: []operontest.Change{operontest.Create(lid)}},
			{Name: "something else appears", Do: []operontest.Change{operontest.Create(config("bottle", nil))}},
		},
	})
	// Output:
	// the object is created
	//   write status Box box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// a lid appears
	//   write status Box box
	//   Ready=True Ready: all resources are up to date and ready
	// something else appears
	//   Ready=True Ready: all resources are up to date and ready
}

// Objects that Compose reads are watched, too: the child follows a ConfigMap that the operator does not own.
func ExampleComposition_Get() {
	c := boxCase{
		Object: box(nil),
		Then: []boxStep{{Name: "the paint is bought", Do: []operontest.Change{
			operontest.Create(config("paint", map[string]string{"color": "red"})),
		}}},
	}
	tell(compose(func(_ *Box, out *operon.Composition) error {
		paint := config("paint", nil)
		found, err := out.Get(context.Background(), paint)
		if err != nil {
			return err
		}
		if !found {
			out.Wait("NoPaint", "waits for the ConfigMap paint")
			return nil
		}
		out.Child(config("lid", paint.Data))
		return nil
	}), c)
	// Output:
	// the object is created
	//   write status Box box
	//   Ready=False NoPaint: waits for the ConfigMap paint
	// the paint is bought
	//   write create ConfigMap lid
	//   write status Box box
	//   event Created: created ConfigMap lid
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
}

// dressed reports in the status of a Box what its child contains.
type dressed struct{}

func (dressed) Compose(_ context.Context, b *Box, out *operon.Composition) error {
	out.Child(config(b.Name, nil))
	return nil
}

func (dressed) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	child := config(b.Name, nil)
	found, err := seen.Child(ctx, child)
	if found {
		b.Status.Seen = []string{child.Data["up"]}
	}
	return err
}

// Child reads the live state of a child, including fields that other clients wrote.
func ExampleObserved_Child() {
	tell(dressed{}, boxCase{
		Object: box(nil),
		Then:   []boxStep{{Name: "another client changes the child", Do: []operontest.Change{comesUp(config("box", nil))}}},
	})
	// Output:
	// the object is created
	//   write create ConfigMap box
	//   write status Box box
	//   event Created: created ConfigMap box
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// another client changes the child
	//   write status Box box
	//   Ready=True Ready: all resources are up to date and ready
}

// A reconcile that takes longer than ten seconds is canceled and retried.
func ExampleTimeout() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Manage(compose(copies), operon.Timeout(10*time.Second)),
	)
}

// Setup gives access to the controller-runtime manager, here to add a plain reconciler.
func ExampleSetup() {
	operon.Main("box-operator", operon.API(addBox),
		operon.Manage(compose(copies)),
		operon.Setup(func(manager ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(manager).For(&corev1.Node{}).Complete(nodes{manager.GetClient()})
		}),
	)
}

// nodes is a plain controller-runtime reconciler.
type nodes struct{ client.Client }

func (n nodes) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, client.IgnoreNotFound(n.Get(ctx, request.NamespacedName, &corev1.Node{}))
}

type (
	boxCase = operontest.Case[*Box]
	boxStep = operontest.Step[*Box]
)

// tell prints the actions of an operator in a test case.
func tell(composer operon.Composer[*Box], c boxCase) {
	story, err := operontest.New(composer, addBox).Story(context.Background(), c)
	if err != nil {
		story = err.Error()
	}
	fmt.Print(story)
}

// show prints the objects that are composed for a red Box.
func show(composer compose) {
	children, err := operontest.New(composer, addBox).Children(context.Background(), box(map[string]string{"color": "red"}))
	if err != nil {
		children = err.Error()
	}
	fmt.Print(children)
}

func box(data map[string]string) *Box {
	return &Box{ObjectMeta: metav1.ObjectMeta{Name: "box"}, Spec: BoxSpec{Data: data}}
}

// immutable is a ConfigMap whose data cannot be changed.
func immutable(name string, data map[string]string) *corev1.ConfigMap {
	c := config(name, data)
	c.Immutable = new(true)
	return c
}

// isUp reports whether the data of a ConfigMap states that it is up.
func isUp(live *unstructured.Unstructured) (bool, string) {
	up, _, _ := unstructured.NestedString(live.Object, "data", "up")
	return up == "yes", "it is down"
}

// comesUp changes the data of a ConfigMap so that isUp returns true.
func comesUp(c *corev1.ConfigMap) operontest.Change {
	return operontest.Edit(c, func(c *corev1.ConfigMap) { c.Data = map[string]string{"up": "yes"} })
}

// The manager's client reads its own writes: a plain reconciler that creates an object under
// a generated name finds it in its next list, and does not create a second one.
func ExampleSetup_readYourWrites() {
	operon.Main("ticket-operator", operon.Setup(func(manager ctrl.Manager) error {
		return ctrl.NewControllerManagedBy(manager).For(&corev1.ServiceAccount{}).Complete(tickets{manager.GetClient()})
	}), operon.CacheAll(&corev1.ConfigMap{}))
}

// tickets gives each ServiceAccount one ConfigMap.
type tickets struct{ client.Client }

func (t tickets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var given corev1.ConfigMapList
	mine := client.MatchingLabels{"ticket-of": request.Name}
	if err := t.List(ctx, &given, client.InNamespace(request.Namespace), mine); err != nil || len(given.Items) > 0 {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, t.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: request.Namespace, GenerateName: "ticket-", Labels: mine,
	}})
}

// Your own reconciler that reads Secrets of all namespaces has to allow this, because the manager's client caches all
// of them.
func ExampleCacheAll() {
	operon.Main("secret-operator", operon.CacheAll(&corev1.Secret{}), operon.Setup(func(manager ctrl.Manager) error {
		return ctrl.NewControllerManagedBy(manager).For(&corev1.Secret{}).Complete(nodes{manager.GetClient()})
	}))
}
