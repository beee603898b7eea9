package action_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/cron"
	"github.com/operon-framework/operon/internal/runtime/action"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// story is the input of a schedule at a point in time: Actions by the time for which they were created, with their phases.
type story struct {
	Why     string                      `json:"why"`
	Now     metav1.Time                 `json:"now"`
	Created metav1.Time                 `json:"created"`
	Last    *metav1.Time                `json:"last"`
	Spec    v1alpha1.ActionScheduleSpec `json:"spec"`
	There   map[string]journal.Phase    `json:"there"`
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 18, func(t *testing.T, given string) string {
		t.Helper()
		var s story
		if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
			t.Fatal(err)
		}
		schedule := &v1alpha1.ActionSchedule{Spec: s.Spec}
		schedule.Name, schedule.CreationTimestamp = "nightly", s.Created
		schedule.Status.LastScheduledAt = s.Last
		when, err := cron.Parse(s.Spec.Schedule, s.Spec.TimeZone)
		if err != nil {
			t.Fatal(err)
		}
		var there []v1alpha1.Action
		for at, phase := range s.There {
			a := v1alpha1.Action{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{action.ScheduledAnnotation: at}}}
			a.Name = "of-" + at
			if phase != "" {
				a.Status.Journal = &journal.Journal{Phase: phase}
			}
			there = append(there, a)
		}
		return tell(action.PlanOf(schedule, there, when, s.Now.Time))
	})
}

func tell(p action.Plan) string {
	var out strings.Builder
	for _, a := range p.Keep {
		fmt.Fprintf(&out, "keep %s", a.Name)
		if a.Spec.Cancel {
			out.WriteString(", canceled")
		}
		out.WriteString("\n")
	}
	if p.Due != nil {
		fmt.Fprintf(&out, "make %s of %s\n", p.Due.Name, p.Due.Spec.Action)
	}
	fmt.Fprintf(&out, "active %q\n", p.Active)
	fmt.Fprintf(&out, "last %s\nnext %s\n", p.Last.UTC().Format(time.RFC3339), p.Next.UTC().Format(time.RFC3339))
	return out.String()
}
