package proxy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/local/localtest"
)

// Activity counts the work of an operator, and not its requests while it is idle.
func TestActivity(t *testing.T) {
	t.Parallel()
	const delay = 500 * time.Millisecond
	s := newStand(t, fault.Fault{Kind: fault.Delay, For: metav1.Duration{Duration: delay}, On: fault.Match{Verb: "create", Name: "x"}})
	client := kubernetes.NewForConfigOrDie(s.Proxy.Config())
	before, changed := s.Activity()
	s.watched(s.configMaps())
	_, err := client.Discovery().ServerVersion()
	s.must(err)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}
	_, err = client.CoordinationV1().Leases(s.Namespace).Create(t.Context(), lease, metav1.CreateOptions{})
	s.must(err)
	if !isClosed(changed) {
		t.Error("the changes woke nobody")
	}
	now, changed := s.Activity()
	before.Seen += 3
	if now != before || before.Pending != 1 {
		t.Errorf("activity is %+v, was %+v", now, before)
	}
	quiet := s.busy()
	s.comes("a change", changed)
	during, changed := s.Activity()
	if during.Open != 1 || during.Count != 1 || during.Pending != 1 || !during.Last.After(before.Last) {
		t.Errorf("activity is %+v, was %+v", during, before)
	}
	quiet()
	s.comes("the end of a request", changed)
	began := time.Now()
	_, err = s.configMaps().Create(t.Context(), configMap("x", nil), metav1.CreateOptions{})
	s.must(err)
	localtest.Eventually(t, "the end of the next one", func(context.Context) error {
		now, changed = s.Activity()
		if now.Open > 0 {
			return fmt.Errorf("the activity is %+v", now)
		}
		return nil
	})
	if now.Count != 2 || now.Pending != 0 || now.Last.Sub(began) < delay || isClosed(changed) {
		t.Errorf("activity is %+v, was %+v", now, during)
	}
	s.recorded("create", "x")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
