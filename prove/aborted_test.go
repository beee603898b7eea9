package prove

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// unstartable is an operator that cannot be started as often as failures says.
type unstartable struct {
	runner.Operator
	failures atomic.Int32
}

// Start implements runner.Operator.
func (u *unstartable) Start(ctx context.Context, access runner.Access) (runner.Running, error) {
	if u.failures.Add(-1) >= 0 {
		return nil, errors.New("no memory is left")
	}
	return u.Operator.Start(ctx, access)
}

// A run that cannot be completed does not end the session, until several in a row cannot.
func TestAborted(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	for name, failures := range map[string]int32{"one": 1, "all": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := operators.Find("ok-app")
			if err != nil {
				t.Fatal(err)
			}
			options, err := galleryTest(o).options(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			testCluster.join(t, &options)
			operator := &unstartable{Operator: options.Operator}
			var once atomic.Bool
			options.Operator, options.Plans, options.Budget, options.Workers = operator, 6, 10*time.Minute, 1 // all plans are executed, however long they take
			options.Observe = func(now report.Standing) {
				if now.Planned > 0 && once.CompareAndSwap(false, true) {
					operator.failures.Store(failures)
				}
			}
			found, err := Prove(t.Context(), options)
			if found == nil {
				t.Fatal(err)
			}
			if name == "all" {
				if err == nil || !found.Interrupted || found.Plans.Aborted != mostInRow-1 {
					t.Errorf("the error is %v after %+v", err, found.Plans)
				}
				return
			}
			if err != nil || found.Plans.Aborted != 1 || found.Plans.Run != 5 || found.Failures() > 0 {
				t.Errorf("the error is %v after %+v, and there is found:\n%s", err, found.Plans, textOf(t, found))
			}
			if text := textOf(t, found); !strings.Contains(text, "1 test case, could not be completed (start the operator: no memory is left)") {
				t.Errorf("the report is:\n%s", text)
			}
		})
	}
}
