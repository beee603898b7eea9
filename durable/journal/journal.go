// Package journal is the record of a durable workflow, and the rules that decide which step comes next. If your
// kind has a WorkflowRunner, add a *[Journal] to its status; package durable does the rest.
//
// The package is pure: it calls nothing and stores nothing. The caller asks what to do about a step, does
// it, records the result, and stores the journal as a whole. A process that takes over needs nothing but
// the journal.
package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is the version of the journals that this package writes. Newer journals are not changed.
const Version = 1

const (
	// MaxResult is the maximum size of the result of a step, as JSON, in bytes.
	MaxResult = 16 << 10
	// MaxSteps is the maximum number of steps of a run.
	MaxSteps = 200
	// MaxTotal is the maximum size of the input and all results of a run, in bytes. The
	// journal is part of an object, and etcd limits objects to 1.5 MiB.
	MaxTotal = 256 << 10
	// MaxArtifact is the maximum size of an artifact and its name, in bytes. MaxArtifacts is the maximum
	// number of artifacts of a run.
	MaxArtifact, MaxArtifacts = 2 << 10, 32
	// maxMessage is the maximum size of the message of a step, in bytes. Longer ones are cut.
	maxMessage = 1024
)

// Phase is the state of a run.
type Phase string

const (
	// Running: the steps run.
	Running Phase = "Running"
	// Finishing: all steps are done, and the final cleanup runs.
	Finishing Phase = "Finishing"
	// Undoing: a step failed or the run was canceled, and its steps are being undone.
	Undoing Phase = "Undoing"
	// Succeeded: all steps are done.
	Succeeded Phase = "Succeeded"
	// Failed: a step failed, and the completed steps were undone.
	Failed Phase = "Failed"
	// Canceled: the run was canceled, and the completed steps were undone.
	Canceled Phase = "Canceled"
)

// Over reports whether nothing is left to do.
func (p Phase) Over() bool { return p == Succeeded || p == Failed || p == Canceled }

// State is the state of a step.
type State string

const (
	// StepRunning: an attempt has started, and its result is not known yet.
	StepRunning State = "Running"
	// StepWaiting: the step waits for something.
	StepWaiting State = "Waiting"
	// StepRetrying: an attempt failed, and another one will follow.
	StepRetrying State = "Retrying"
	// StepDone: the step succeeded, and its result is recorded.
	StepDone State = "Done"
	// StepFailed: the step failed, and no other attempt will follow.
	StepFailed State = "Failed"
	// StepUndoing: the step is being undone.
	StepUndoing State = "Undoing"
	// StepUndone: the step was undone or cleaned up.
	StepUndone State = "Undone"
)

// Journal is the record of one run of a workflow.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Journal struct {
	// Version of the journal.
	Version int32 `json:"version"`
	// Run is the number of this run of the object, from 1.
	Run int32 `json:"run"`
	// ID identifies the run.
	ID string `json:"id"`
	// Phase of the run.
	Phase Phase `json:"phase"`
	// Input that the run started with, as JSON.
	// +optional
	Input string `json:"input,omitempty"`
	// Canceled is true if the run is undone because it was canceled.
	// +optional
	Canceled bool `json:"canceled,omitempty"`
	// Message is the reason why the run is undone.
	// +optional
	Message string `json:"message,omitempty"`
	// Steps in the order in which they started.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	Steps []Step `json:"steps,omitempty"`
	// Artifacts that the run created for later use, by name.
	// +optional
	Artifacts map[string]string `json:"artifacts,omitempty"`
	// StartedAt is when the run started.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// FinishedAt is when the run ended.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`

	// unread is a journal that this package cannot read, as it was stored.
	unread []byte `json:"-"`
}

// Step is the record of one step.
type Step struct {
	// Name of the step, unique in the run.
	Name string `json:"name"`
	// State of the step.
	State State `json:"state"`
	// Attempts is how often the step was started.
	Attempts int32 `json:"attempts"`
	// Failures is the number of consecutive failures.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Message states what the step waits for, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// Progress is the progress as the step reports it.
	// +optional
	Progress string `json:"progress,omitempty"`
	// Result of the step, as JSON.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	Result string `json:"result,omitempty"`
	// StartedAt is when the step was first started.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// EndedAt is when the step succeeded or failed.
	// +optional
	EndedAt *metav1.MicroTime `json:"endedAt,omitempty"`
	// NextAt is when the next attempt is due.
	// +optional
	NextAt *metav1.MicroTime `json:"nextAt,omitempty"`
}

// New returns the journal of the n-th run of an object, with an ID that reveals neither. After a user has removed a journal, runs are
// counted from 1 again. Their start makes their IDs, and so the keys of their steps, different from those of earlier runs.
func New(object string, n int32, input string, now time.Time) *Journal {
	id := digest(object, strconv.Itoa(int(n)), strconv.FormatInt(now.UnixNano(), 10))
	return &Journal{Version: Version, Run: n, ID: id, Phase: Running, Input: input, StartedAt: at(now)}
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

// short truncates a message to maxMessage bytes.
func short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
