package operontest_test

import (
	"context"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// An object is ready according to kstatus after ComesUp, and is not ready before.
func TestComesUp(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "a"}
	for _, object := range []client.Object{
		deployment("a"),
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}},
		&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}},
		&appsv1.DaemonSet{ObjectMeta: meta},
		&batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Completions: new(int32(2))}},
		&corev1.Pod{ObjectMeta: meta},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta},
	} {
		is := func(want bool) operontest.Change {
			return func(ctx context.Context, p operontest.Place) error {
				live := &unstructured.Unstructured{}
				kind, err := apiutil.GVKForObject(object, p.Scheme())
				if err != nil {
					return err
				}
				live.SetGroupVersionKind(kind)
				if err := p.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: "a"}, live); err != nil {
					return err
				}
				found, err := status.Compute(live)
				if err == nil && (found.Status == status.CurrentStatus) != want {
					t.Errorf("%s is %s: %s", kind.Kind, found.Status, found.Message)
				}
				return err
			}
		}
		operontest.New(compose(nothing), addLamp).RunOne(t, lampCase{
			Given: []client.Object{object}, Object: lamp(1),
			Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}},
			Then:   []step{{Do: []operontest.Change{is(false), operontest.ComesUp(object), is(true)}}},
		})
	}
}

func nothing(*Lamp, *operon.Composition) error { return nil }

// aDeployment is a Lamp with a Deployment that another client changes.
var aDeployment = lampCase{
	Name:   "a Deployment",
	Object: lamp(1),
	Expect: expect{
		Writes:     []string{"create Deployment desk", "status Lamp desk"},
		Events:     []string{"Created: Deployment desk"},
		Conditions: []string{"Ready=False ChildNotReady: Deployment desk", "Reconciling=True"},
	},
	Then: []step{{
		Name:   "it comes up",
		Do:     []operontest.Change{operontest.ComesUp(deployment("desk"))},
		Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}, Conditions: []string{"Ready=True"}},
	}, {
		Name: "somebody adds a label and an annotation",
		Do: []operontest.Change{operontest.Edit(deployment("desk"), func(d *appsv1.Deployment) {
			d.Labels["team"], d.Annotations["note"] = "light", "by hand"
		})},
	}, {
		Name: "somebody adds a container",
		Do: []operontest.Change{operontest.Edit(deployment("desk"), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		}), operontest.ComesUp(deployment("desk"))},
	}, {
		Name: "somebody changes the image",
		Do: []operontest.Change{operontest.Edit(deployment("desk"), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "lamp:2"
		}), operontest.ComesUp(deployment("desk"))},
		Expect: expect{
			Writes: []string{"change Deployment desk", "status Lamp desk"},
			Events: []string{"Repaired: containers[name=lamp].image (changed by somebody)", "ChildNotReady"},
		},
	}, {
		Name:   "it comes up again",
		Do:     []operontest.Change{operontest.ComesUp(deployment("desk"))},
		Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}, Conditions: []string{"Ready=True"}},
	}},
}

func TestADeployment(t *testing.T) {
	t.Parallel()
	op := operontest.New(compose(func(l *Lamp, out *operon.Composition) error {
		out.Child(deployment(l.Name))
		return nil
	}), addLamp)
	op.Run(t, aDeployment)
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		env := onCluster(t)
		op.RunOn(t, env.Config, env.Namespace, aDeployment)
	})
}
