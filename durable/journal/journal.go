// Package journal is the record of durable work, and the rules that decide which step comes next. If your
// kind has a Worker, add a *[Journal] to its status; package durable does the rest.
//
// The package is pure: it calls nothing and stores nothing. The caller asks what to do about a step, does
// it, records how it ended, and stores the journal as a whole. A process that takes over learns from
// the journal alone how far the work is.
package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is the version of the journals that this package writes. It does not change newer ones.
const Version = 1

const (
	// MaxResult is how long the result of a step may be, as JSON, in bytes.
	MaxResult = 16 << 10
	// MaxSteps is how many steps a run may have.
	MaxSteps = 200
	// MaxTotal is how long the results and the input of a run may be together, in bytes: a
	// journal is part of an object, which etcd takes up to 1.5 MiB of.
	MaxTotal = 256 << 10
	// MaxArtifact is how long an artifact may be with its name, in bytes, and MaxArtifacts how many of
	// them a run may have.
	MaxArtifact, MaxArtifacts = 2 << 10, 32
	// maxMessage is how much is kept of what a step says.
	maxMessage = 1024
)

// Phase is where a run stands.
type Phase string

const (
	// Running: steps are done.
	Running Phase = "Running"
	// Finishing: all steps are done, and what has to be cleaned up at the end is.
	Finishing Phase = "Finishing"
	// Undoing: a step failed or the run was canceled, and what was done is undone.
	Undoing Phase = "Undoing"
	// Succeeded: all steps are done.
	Succeeded Phase = "Succeeded"
	// Failed: a step failed, and what was done is undone.
	Failed Phase = "Failed"
	// Cancelled: somebody wanted the run to end, and what was done is undone.
	Cancelled Phase = "Cancelled"
)

// Over reports whether nothing is left to do.
func (p Phase) Over() bool { return p == Succeeded || p == Failed || p == Cancelled }

// State is where a step stands.
type State string

const (
	// StepRunning: an attempt was begun, and whoever began it has not said how it ended.
	StepRunning State = "Running"
	// StepWaiting: the step waits for something.
	StepWaiting State = "Waiting"
	// StepRetrying: an attempt failed; there will be another one.
	StepRetrying State = "Retrying"
	// StepDone: there is a result.
	StepDone State = "Done"
	// StepFailed: there will be no other attempt.
	StepFailed State = "Failed"
	// StepUndoing: undoing it was begun.
	StepUndoing State = "Undoing"
	// StepUndone: it was undone, or cleaned up after.
	StepUndone State = "Undone"
)

// Journal is what is written down of one run.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Journal struct {
	// Version of the journal.
	Version int32 `json:"version"`
	// Run counts the runs of the same object, from 1.
	Run int32 `json:"run"`
	// ID is the run's and no other's.
	ID string `json:"id"`
	// Phase is where the run stands.
	Phase Phase `json:"phase"`
	// Input is what the run was given when it began, as JSON.
	// +optional
	Input string `json:"input,omitempty"`
	// Cancelled tells that the run is undone because somebody wanted it to end.
	// +optional
	Cancelled bool `json:"cancelled,omitempty"`
	// Message says why the run is undone.
	// +optional
	Message string `json:"message,omitempty"`
	// Steps in the order in which they were begun.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Steps []Step `json:"steps,omitempty"`
	// Artifacts are what the run made for others to use, by name.
	// +optional
	Artifacts map[string]string `json:"artifacts,omitempty"`
	// StartedAt is when the run began.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// FinishedAt is when it was over.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`

	// unread is a journal that this package cannot read, as it was.
	unread []byte `json:"-"`
}

// Step is what is written down of one step.
type Step struct {
	// Name is the step's and no other's of the run.
	Name string `json:"name"`
	// State is where it stands.
	State State `json:"state"`
	// Attempts is how often it was begun.
	Attempts int32 `json:"attempts"`
	// Failures is how often it failed in a row.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Message says what it waits for, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// Progress is how far it came, in its own words.
	// +optional
	Progress string `json:"progress,omitempty"`
	// Result is what it came to, as JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Result string `json:"result,omitempty"`
	// StartedAt is when it was first begun.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// EndedAt is when it was done or failed.
	// +optional
	EndedAt *metav1.MicroTime `json:"endedAt,omitempty"`
	// NextAt is when there is another attempt.
	// +optional
	NextAt *metav1.MicroTime `json:"nextAt,omitempty"`
}

// New returns the journal of the n-th run of an object.
func New(object string, n int32, input string, now time.Time) *Journal {
	return &Journal{Version: Version, Run: n, ID: identify(object, n), Phase: Running, Input: input, StartedAt: at(now)}
}

// identify names the n-th run of an object. It tells nothing of either.
func identify(object string, n int32) string {
	return digest(object, strconv.Itoa(int(n)))
}

// Key returns the idempotency key of a step: 32 hexadecimal digits, which are the same in each attempt of the step
// in this run, also when it is undone, and differ from those of all others.
func (j *Journal) Key(step string) string { return digest(j.ID, step) }

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func at(now time.Time) *metav1.MicroTime { return new(metav1.NewMicroTime(now)) }

// short bounds what is kept of a message.
func short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
