package up_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/local/localtest"
)

const rival = "elsewhere:/home/of/another/copy"

// A project that another working copy runs is neither changed nor removed. When the other one is killed, its Lease expires.
func TestAnotherWorkingCopy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	leases := f.client(t).CoordinationV1().Leases(metav1.NamespaceDefault)
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "operon-up-" + f.name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new(rival), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: time.Now()},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	alive, killed := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			select {
			case <-alive.Done():
				ended <- nil
				return
			case <-time.After(time.Second):
			}
			_, err := leases.Patch(context.WithoutCancel(alive), lease.Name, types.MergePatchType,
				[]byte(`{"spec":{"renewTime":"`+time.Now().UTC().Format(metav1.RFC3339Micro)+`"}}`), metav1.PatchOptions{})
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	got := f.once(t, nil)
	if got.err == nil || lacks(got.err.Error(), rival, "runs the project "+f.name, "stop it first") != nil || lacks(got.stderr, "was in use by "+rival) != nil {
		t.Errorf("the error is %v, the output %s", got.err, got.stderr)
	}
	if _, err := f.client(t).CoreV1().Namespaces().Get(t.Context(), f.name+"-system", getOptions); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace of the operator: error %v", err)
	}
	if _, err := f.down(t.Context(), patience); err == nil || !strings.Contains(err.Error(), rival) {
		t.Errorf("down: error %v", err)
	}
	killed()
	if err := localtest.Receive(t, "the end of the renewals", ended); err != nil {
		t.Fatal(err)
	}
	if got := f.once(t, nil); got.err != nil {
		t.Errorf("after the other one was killed: %v", got.err)
	}
	if _, err := leases.Get(t.Context(), lease.Name, getOptions); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease when nothing runs: error %v", err)
	}
}

// A Run whose Lease was taken, for example while its machine was suspended, stops its operator.
func TestATakenLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.loop(t)
	f.hasSize(t, 3)
	leases := f.client(t).CoordinationV1().Leases(metav1.NamespaceDefault)
	_, err := leases.Patch(t.Context(), "operon-up-"+f.name, types.MergePatchType, // the Run notices it before it expires
		[]byte(`{"spec":{"holderIdentity":"`+rival+`","renewTime":"`+time.Now().UTC().Format(metav1.RFC3339Micro)+`"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = localtest.Receive(t, "the end of the Run", r.done)
	r.done <- nil
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), rival) {
		t.Errorf("it ended with %v", err)
	}
	f.noOperator(t)
	if err := leases.Delete(t.Context(), "operon-up-"+f.name, metav1.DeleteOptions{}); err != nil { // it is still that of the other one
		t.Error(err)
	}
}
