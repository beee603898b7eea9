package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// sameState compares the state with the end of the same step without faults.
func sameState(m *moment) []finding.Finding {
	if !m.settled() || !m.wants() {
		return nil
	}
	differences := slices.DeleteFunc(lasting(normalize.Diff(m.normal.state(m.at), m.state(), m.refs.Noise)), func(d normalize.Difference) bool {
		return len(m.does.Delete) > 0 && d.Count.Kind == claim && len(d.Got) >= len(d.Want) && d.Got > d.Want // claims may outlive their users
	})
	if len(differences) == 0 {
		return nil
	}
	property := finding.SameState
	if len(m.does.Delete) > 0 && !slices.ContainsFunc(differences, func(d normalize.Difference) bool { return !d.Extra }) {
		property = finding.NothingLeft
	}
	return []finding.Finding{differing(property, differences, "without faults")}
}

// sameFresh compares the state after a step that leads back to an earlier step with the state after that earlier step. It
// also compares the state after a step that has to lead to the same state as a fresh namespace with the state in a fresh
// namespace.
func sameFresh(m *moment) []finding.Finding {
	if !m.settled() || m.does.Refused {
		return nil
	}
	var found []finding.Finding
	if i := m.run.index(m.does.Same); m.does.Same != "" && i >= 0 && i < m.i && m.run.Steps[i].Silent {
		found = append(found, m.differs(m.run.state(i), "when it was first created")...)
	}
	if fresh := m.refs.fresh[m.step.Name]; m.does.Fresh && fresh != nil {
		if want := fresh.silentState(m.step.Name); want != nil && (!m.does.Guess || m.makesSense(want)) {
			found = append(found, m.suspended(m.differs(want, "in a fresh namespace"))...)
		}
	}
	return m.declined(found)
}

// suspended makes findings notes if the spec seems to suspend the operator. Then the states of a new object and of a
// changed object differ by design.
func (m *moment) suspended(found []finding.Finding) []finding.Finding {
	if !m.standsStill() {
		return found
	}
	for i := range found {
		found[i].Level = finding.Note
		found[i].Message = "the spec suspends the operator, or does not work: a new object gets no children, and an existing one keeps its children unchanged"
	}
	return found
}

// standsStill reports whether the operator creates nothing for new objects with the spec of the step, and leaves the
// objects that it created for others unchanged.
func (m *moment) standsStill() bool {
	fresh := m.refs.fresh[m.step.Name]
	if !m.does.Fresh || fresh == nil || fresh.makes(fresh.index(m.step.Name)) || !m.run.makes(0) {
		return false
	}
	return !slices.ContainsFunc(m.run.requests(m.i), func(r requestlog.Request) bool {
		return changed(&r) && !normalize.IsCustom(schema.GroupKind{Group: r.Group})
	})
}

// makes reports whether objects that the operator created for the workload exist at the end of a step. It is true if that
// is not known.
func (r *run) makes(i int) bool {
	return i < 0 || !r.Steps[i].Silent || slices.ContainsFunc(r.state(i).Objects, func(o *normalize.Object) bool {
		return o.ByOperator && !o.ByUser && !r.before(o)
	})
}

// makesSense reports whether the state in a fresh namespace has no more objects that are not ready than the state after
// the first step. If it has more, the objects may be valid for the API server and still be wrong.
func (m *moment) makesSense(fresh *normalize.State) bool {
	return fresh == nil || m.run.Steps[0].Silent && notReady(fresh) <= notReady(m.run.state(0))
}

// notReady returns how many of the objects that operator and user wrote are not ready.
func notReady(s *normalize.State) int {
	n := 0
	for _, one := range s.Objects {
		if is := readiness.Of(one.Live().GroupVersionKind(), one.Live()); is.Status != readiness.Ready {
			n++
		}
	}
	return n
}

// differs compares the state with another state that the same objects led to. Fields that record how the state was reached
// (the reason and message of a condition, times of past events) may differ, and claims may have been kept.
func (m *moment) differs(want *normalize.State, when string) []finding.Finding {
	differences := slices.DeleteFunc(normalize.Diff(want, m.state(), m.refs.Noise), func(d normalize.Difference) bool {
		tells := story.MatchString(d.Path) || addedToCondition(d.Path) || isPastEvent(d)
		return tells || d.Count.Kind == claim || d.Extra && (d.Object.Kind == claim || isRevision(d.Object) || isFinished(d.Object)) || d.Missing && hasExpired(d.Object)
	})
	if len(differences) == 0 {
		return nil
	}
	property := finding.SameFresh
	if !slices.ContainsFunc(differences, func(d normalize.Difference) bool { return !d.Extra || !d.Object.Generated }) {
		property = finding.Bounded
	}
	return []finding.Finding{differing(property, differences, when)}
}

// isRevision reports whether an object is what remains of an earlier version of a workload, as the controllers of Kubernetes keep it for a way back:
// a ReplicaSet without pods, or a ControllerRevision.
func isRevision(o *normalize.Object) bool {
	if o.Group != "apps" {
		return false
	}
	replicas, found, _ := unstructured.NestedInt64(o.Live().Object, "spec", "replicas")
	return o.Kind == "ControllerRevision" || o.Kind == "ReplicaSet" && found && replicas == 0
}

const claim = "PersistentVolumeClaim"

// isFinished reports whether an object is a Job that has ended: it tells what was done.
func isFinished(o *normalize.Object) bool {
	if o.Group != "batch" || o.Kind != "Job" {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Live().Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return (condition["type"] == "Complete" || condition["type"] == "Failed") && condition["status"] == "True"
	})
}

// hasExpired reports whether an object is a Job that has ended and that Kubernetes deletes after some time.
func hasExpired(o *normalize.Object) bool {
	_, expires, _ := unstructured.NestedInt64(o.Live().Object, "spec", "ttlSecondsAfterFinished")
	return expires && isFinished(o)
}

// isPastEvent reports whether a status or an annotation has the time of an event, such as a restart, in one state only.
func isPastEvent(d normalize.Difference) bool {
	return (isStatus(d.Path) || annotation.MatchString(d.Path)) && (d.Want == "" && d.Got == aTime || d.Got == "" && d.Want == aTime)
}

// annotation matches the annotations of an object and of its template.
var annotation = regexp.MustCompile(`(^|\.)metadata\.annotations[.\[]`)

// aTime is the placeholder that normalize uses for a time since the start of the run.
const aTime = `"{time}"`

// lasting leaves out how a condition says that its status was reached, if that is the same.
func lasting(all []normalize.Difference) []normalize.Difference {
	differs := map[string]bool{}
	for _, d := range all {
		differs[d.Of+" "+d.Path] = true
	}
	return slices.DeleteFunc(all, func(d normalize.Difference) bool {
		match := story.FindStringSubmatch(d.Path)
		return addedToCondition(d.Path) || match != nil && !differs[d.Of+" "+strings.TrimSuffix(d.Path, match[1])+"status"]
	})
}

var story = regexp.MustCompile(`^status\.conditions\[[^\]]+\]\.(reason|message)$`)

var inCondition = regexp.MustCompile(`^status\.conditions\[[^\]]+\]\.(\w+)`)

// addedToCondition reports whether an operator added a field to those of a condition, such as the number of steps that it
// took. Such fields describe how a state was reached.
func addedToCondition(path string) bool {
	match := inCondition.FindStringSubmatch(path)
	return match != nil && !slices.Contains([]string{"type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"}, match[1])
}

// restored checks whether the operator reverted the changes of another client.
func restored(m *moment) []finding.Finding {
	if m.does.Drift == nil || m.i == 0 || !m.settled() || m.normal != nil {
		return nil // with faults, the comparison finds what was not restored
	}
	of := m.does.Drift.Of
	differences := slices.DeleteFunc(normalize.Diff(m.run.state(m.i-1), m.state(), m.refs.Noise), func(d normalize.Difference) bool {
		added := d.Want == "" // the operator does not have to remove additions of other clients
		return added || d.Object == nil || !isOf(of, d.Object.Live()) || isStatus(d.Path)
	})
	if len(differences) == 0 {
		return nil
	}
	return []finding.Finding{differing(finding.Restored, differences, "before another client changed it")}
}

// refusing checks the result of an invalid object.
func refusing(m *moment) []finding.Finding {
	if !m.does.Refused || m.i == 0 || m.step.Refused == "" && !m.settled() {
		return nil
	}
	before := m.run.state(m.i - 1)
	f := finding.Finding{Property: finding.Refusing}
	if len(m.does.Apply) > 0 {
		f.Of = m.ref(m.does.Apply[0])
	}
	differences := normalize.Diff(before, m.state(), m.refs.Noise)
	if m.step.Refused != "" {
		if !m.settled() || len(differences) == 0 {
			return nil
		}
		return []finding.Finding{differing(finding.Refusing, differences, "before an invalid value was rejected")}
	}
	if !m.reported(differences) {
		f.Message = "an invalid value is neither rejected nor reported"
		f.Diff = cut(normalize.Plain(differences))
		return []finding.Finding{f}
	}
	for _, d := range differences {
		if d.Missing && d.Object.ByOperator && !d.Object.ByUser {
			f.Message = fmt.Sprintf("a %s is deleted because of an invalid value", d.Object.Kind)
			f.Of, f.Diff = refTo(d.Object), cut(normalize.Plain(differences))
			return []finding.Finding{f}
		}
	}
	return nil
}

// reported reports whether users can see the problem: the status of a custom resource changed, or a warning event exists.
func (m *moment) reported(differences []normalize.Difference) bool {
	for _, d := range differences {
		if d.Object != nil && isStatus(d.Path) && normalize.IsCustom(d.Object.Live().GroupVersionKind().GroupKind()) && !strings.HasSuffix(d.Path, ".observedGeneration") {
			return true
		}
	}
	for _, event := range m.step.Events {
		if event.Type != normalEvent && slices.ContainsFunc(m.does.Apply, func(object *unstructured.Unstructured) bool {
			return event.Of == object.GetKind()+"/"+object.GetName()
		}) {
			return true
		}
	}
	return false
}

// differing returns a finding about a state that differs from the state at another time.
func differing(property finding.Property, differences []normalize.Difference, when string) finding.Finding {
	first := differences[0]
	f := finding.Finding{Property: property, Diff: cut(normalize.Plain(differences))}
	if first.Object != nil {
		f.Of = refTo(first.Object)
	}
	switch {
	case first.Missing:
		f.Message = fmt.Sprintf("a %s is missing that existed %s", first.Object.Kind, when)
	case first.Extra:
		f.Message = fmt.Sprintf("a %s exists that did not exist %s", first.Object.Kind, when)
	case first.Object == nil:
		owner, _, owned := strings.Cut(first.Of, "/")
		if !owned {
			owner = "namespace"
		}
		f.Message = fmt.Sprintf("the %s has another number of %ss than %s", owner, first.Count.Kind, when)
	default:
		f.Message = fmt.Sprintf("%s of the %s is not the same as %s", normalize.Place(first.Path), first.Object.Kind, when)
	}
	return f
}

func isStatus(path string) bool { return strings.HasPrefix(path, "status.") }

// cut returns only the first differences if there are many.
func cut(differences []finding.Difference) []finding.Difference {
	const most = 20
	return differences[:min(most, len(differences))]
}
