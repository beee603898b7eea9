package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Overlap states what happens if an Action is due while the previous one still runs.
//
// +kubebuilder:validation:Enum=Forbid;Allow;Replace
type Overlap string

const (
	// Forbid creates the new Action when the previous one has ended, unless its deadline is over by then.
	Forbid Overlap = "Forbid"
	// Allow creates the new Action, which starts after the previous one.
	Allow Overlap = "Allow"
	// Replace cancels the previous Action.
	Replace Overlap = "Replace"
)

// ActionSchedule creates Actions on a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Schedule,type=string,JSONPath=.spec.schedule
// +kubebuilder:printcolumn:name=Suspend,type=boolean,JSONPath=.spec.suspend
// +kubebuilder:printcolumn:name=Last,type=date,JSONPath=.status.lastScheduledAt
// +kubebuilder:printcolumn:name=Next,type=string,JSONPath=.status.nextAt
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type ActionSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ActionScheduleSpec   `json:"spec"`
	Status ActionScheduleStatus `json:"status,omitempty"`
}

// ActionScheduleSpec is the schedule, and a template of the Actions.
type ActionScheduleSpec struct {
	// Schedule in cron format: minute, hour, day of the month, month and day of the week, or @hourly, @daily, @weekly, @monthly
	// or @yearly.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// TimeZone of the schedule, such as Europe/Berlin. Default: UTC.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// AtOnce also creates an Action as soon as the ActionSchedule is created.
	//
	// +optional
	AtOnce bool `json:"atOnce,omitempty"`
	// Suspend stops the creation of Actions. Actions that were due while it was set are skipped, unless their deadline has not passed
	// when it ends.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Overlap states what happens if an Action is due while the previous one still runs. Default: Forbid.
	//
	// +optional
	// +kubebuilder:default=Forbid
	Overlap Overlap `json:"overlap,omitempty"`
	// Deadline limits how late an Action may be created, for example if the operator did not run when it was due. If several were
	// missed, only the last one is created. Default: 10m. At least 10s.
	//
	// +optional
	Deadline *metav1.Duration `json:"deadline,omitempty"`
	// SuccessfulHistory is the number of successful Actions to keep. Default: 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulHistory *int32 `json:"successfulHistory,omitempty"`
	// FailedHistory is the number of failed or canceled Actions to keep. Default: 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedHistory *int32 `json:"failedHistory,omitempty"`
	// Template is the spec of the Actions.
	Template ActionSpec `json:"template"`
}

// ActionScheduleStatus lists the Actions of the schedule.
type ActionScheduleStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions describe.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastScheduledAt is the time at which the last Action was due.
	LastScheduledAt *metav1.Time `json:"lastScheduledAt,omitempty"`
	// NextAt is when the next Action is due.
	NextAt *metav1.Time `json:"nextAt,omitempty"`
	// Active are the Actions that have not finished.
	Active []string `json:"active,omitempty"`
}

// ActionScheduleList is a list of ActionSchedules.
//
// +kubebuilder:object:root=true
type ActionScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ActionSchedule `json:"items"`
}
