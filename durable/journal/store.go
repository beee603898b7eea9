package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnreadableError reports that this version of the operator cannot continue a journal, which remains unchanged.
type UnreadableError struct{ Why string }

func (e *UnreadableError) Error() string {
	return "the journal of the work on this object " + e.Why + "; it is left untouched"
}

// Check returns an error if the run of the journal cannot be continued.
func (j *Journal) Check() error {
	if j.unread == nil {
		return nil
	}
	var found struct{ Version json.RawMessage }
	if err := json.Unmarshal(j.unread, &found); err != nil || len(found.Version) == 0 {
		return &UnreadableError{Why: "has no version, so that its format is unknown: remove it from the status if the workflow may start over"}
	}
	var version int32
	if err := json.Unmarshal(found.Version, &version); err == nil && version <= Version {
		return &UnreadableError{Why: fmt.Sprintf("is of version %d but cannot be read: remove it from the status if the workflow may start over", version)}
	}
	return &UnreadableError{Why: fmt.Sprintf("is of version %s, and this operator knows %d: run the newer operator again, which wrote it", found.Version, Version)}
}

// EndOf returns the phase of the run of a journal, and whether the run has ended. It also reads a journal that Check
// rejects, such as one of a newer operator: it has ended if its phase is known to be an end, or is unknown and the
// journal says when the run finished. A nil journal has no phase.
func EndOf(j *Journal) (phase Phase, ended bool) {
	if j == nil {
		return "", false
	}
	if j.unread == nil {
		return j.Phase, j.Phase.Over()
	}
	var found struct {
		Phase      any
		FinishedAt any
	}
	if err := json.Unmarshal(j.unread, &found); err != nil {
		return "", false
	}
	text, _ := found.Phase.(string)
	if phase := Phase(text); slices.Contains(phases, phase) {
		return phase, phase.Over()
	}
	at, _ := found.FinishedAt.(string)
	return Phase(text), at != ""
}

// phases are all phases.
var phases = []Phase{Running, Finishing, Undoing, Succeeded, Failed, Canceled}

// fields is a journal without its methods.
type fields Journal

// UnmarshalJSON keeps a journal that it cannot read unchanged, so that the object around it can be read.
func (j *Journal) UnmarshalJSON(data []byte) error {
	*j = Journal{}
	if string(data) == "null" {
		return nil
	}
	read := fields{}
	if err := json.Unmarshal(data, &read); err != nil || read.Version != Version || !known(&read) {
		j.unread = bytes.Clone(data)
		return nil
	}
	*j = Journal(read)
	j.settle()
	return nil
}

// settle replaces empty values, which are not stored, by nil.
func (j *Journal) settle() {
	if len(j.Steps) == 0 {
		j.Steps = nil
	}
	if len(j.Artifacts) == 0 {
		j.Artifacts = nil
	}
	dropZero(&j.StartedAt, &j.FinishedAt)
	for i := range j.Steps {
		s := &j.Steps[i]
		dropZero(&s.StartedAt, &s.EndedAt, &s.NextAt)
	}
}

func dropZero(times ...**metav1.MicroTime) {
	for _, t := range times {
		if (*t).IsZero() {
			*t = nil
		}
	}
}

// known reports whether this package knows all phases and states of a journal.
func known(j *fields) bool {
	for _, step := range j.Steps {
		if step.Name == "" || !slices.Contains([]State{StepRunning, StepWaiting, StepRetrying, StepDone, StepFailed, StepUndoing, StepUndone}, step.State) {
			return false
		}
	}
	return slices.Contains(phases, j.Phase)
}

// MarshalJSON writes a journal. One that could not be read is written as it was stored.
func (j Journal) MarshalJSON() ([]byte, error) {
	if j.unread != nil {
		return j.unread, nil
	}
	return json.Marshal(fields(j))
}

// Same reports whether two journals have the same content. A nil journal has none.
func Same(a, b *Journal) bool { return reflect.DeepEqual(a.DeepCopy(), b.DeepCopy()) }

// DeepCopy returns a copy in the form that a journal has after it was stored.
func (j *Journal) DeepCopy() *Journal {
	if j == nil {
		return nil
	}
	out := new(Journal)
	j.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies the journal into out, as generated code for API types does.
func (j *Journal) DeepCopyInto(out *Journal) {
	*out = *j
	out.unread = bytes.Clone(j.unread)
	out.Steps = slices.Clone(j.Steps)
	out.Artifacts = maps.Clone(j.Artifacts)
	out.StartedAt, out.FinishedAt = j.StartedAt.DeepCopy(), j.FinishedAt.DeepCopy()
	for i := range out.Steps {
		s := &out.Steps[i]
		s.StartedAt, s.EndedAt, s.NextAt = s.StartedAt.DeepCopy(), s.EndedAt.DeepCopy(), s.NextAt.DeepCopy()
	}
}

// DropMessages clears the messages of waiting steps, so that the rest can be compared.
func (j *Journal) DropMessages() {
	for i := range j.Steps {
		if j.Steps[i].State == StepWaiting {
			j.Steps[i].Message, j.Steps[i].Progress = "", ""
		}
	}
}

// Summary returns a sentence about the progress of the run.
func (j *Journal) Summary() string {
	done, last := 0, ""
	for _, step := range j.Steps {
		if step.State == StepDone {
			done++
		}
		if step.State != StepUndone {
			last = step.describe()
		}
	}
	parts := []string{fmt.Sprintf("%d steps done", done)}
	if done == 1 {
		parts[0] = "1 step done"
	}
	if j.Phase == Finishing {
		parts = append(parts, "cleaning up")
	}
	if j.Phase == Undoing {
		parts = append(parts, "undoing because "+j.Message)
	}
	if last != "" {
		parts = append(parts, last)
	}
	return strings.Join(parts, "; ")
}

func (s *Step) describe() string {
	text := fmt.Sprintf("%s is %s", s.Name, strings.ToLower(string(s.State)))
	for _, more := range []string{s.Progress, s.Message} {
		if more != "" && s.State != StepDone {
			text += ": " + more
		}
	}
	return text
}
