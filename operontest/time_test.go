package operontest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// progress is a composer whose child is never ready. It reports the progress of the child.
func progress(l *Lamp, out *operon.Composition) error {
	out.Child(config(l.Name, "a", "b"), operon.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
		done, _, _ := unstructured.NestedString(live.Object, "data", "done")
		return false, "done is " + done
	}))
	return nil
}

func done(percent string) []operontest.Change {
	return []operontest.Change{operontest.Edit(config("desk", "", ""), func(c *corev1.ConfigMap) { c.Data["done"] = percent })}
}

// A status write that changes only a message is delayed for a second. Time is stepped, and the test does not sleep.
func TestTimeIsStepped(t *testing.T) {
	t.Parallel()
	started := time.Now()
	operontest.New(compose(progress), addLamp).RunOne(t, lampCase{
		Object: lamp(1),
		Expect: expect{
			Writes:     []string{"create ConfigMap desk", "status Lamp desk"},
			Events:     []string{"Created"},
			Conditions: []string{"Ready=False ChildNotReady"},
		},
		Then: []step{
			{Name: "a message changes", Do: done("10%"), Wait: 999 * time.Millisecond},
			{Name: "and again", Do: done("20%"), Expect: expect{Conditions: []string{"Ready=False ChildNotReady: done is "}}},
			{Name: "until the second is over", Wait: time.Millisecond, Expect: expect{
				Writes: []string{"status Lamp desk"}, Conditions: []string{"Ready=False ChildNotReady: done is 20%"},
			}},
			{Name: "a day passes", Wait: 24 * time.Hour},
		},
	})
	if took := time.Since(started); took > 10*time.Minute {
		t.Errorf("a day took %s", took)
	}
}

// An error is retried at growing intervals.
func TestErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	calls := 0
	tried := func(times int) func(*Lamp) error {
		return func(*Lamp) error {
			if calls != times {
				return fmt.Errorf("it was tried %d times, want %d", calls, times)
			}
			return nil
		}
	}
	operontest.New(compose(func(l *Lamp, out *operon.Composition) error {
		if calls++; calls < 4 {
			return errors.New("no power")
		}
		return progress(l, out)
	}), addLamp).RunOne(t, lampCase{
		Object: lamp(1),
		Expect: expect{
			Writes:     []string{"status Lamp desk"},
			Events:     []string{"ReconcileFailed: no power"},
			Conditions: []string{"Ready=False ReconcileFailed: no power"},
		},
		Then: []step{
			// It is reconciled again for its own status, and then after 40 and 80 ms.
			{Name: "too early", Wait: 39 * time.Millisecond, Expect: expect{Status: tried(2)}},
			{Name: "later", Wait: time.Millisecond, Expect: expect{Status: tried(3)}},
			{Name: "too early again", Wait: 79 * time.Millisecond, Expect: expect{Status: tried(3)}},
			{Name: "there is power", Wait: time.Millisecond, Expect: expect{
				Writes:     []string{"create ConfigMap desk", "status Lamp desk"},
				Events:     []string{"Created"},
				Conditions: []string{"Ready=False ChildNotReady"},
			}},
		},
	})
}
