package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Overlap is what is done when an Action is due and the one before is not over.
//
// +kubebuilder:validation:Enum=Forbid;Allow;Replace
type Overlap string

const (
	// Forbid leaves the new one out.
	Forbid Overlap = "Forbid"
	// Allow makes it; it begins when the one before is over.
	Allow Overlap = "Allow"
	// Replace cancels the one before.
	Replace Overlap = "Replace"
)

// ActionSchedule makes an Action each time that its schedule says so.
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

// ActionScheduleSpec is when what is to be done.
type ActionScheduleSpec struct {
	// Schedule is five fields of cron (minute, hour, day, month, day of the week), or @hourly,
	// @daily, @weekly, @monthly, @yearly.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`
	// TimeZone of the schedule, such as Europe/Berlin. Default: UTC.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// AtOnce makes the first Action when the ActionSchedule is created, beside those that are due.
	//
	// +optional
	AtOnce bool `json:"atOnce,omitempty"`
	// Suspend makes no further Actions. Those that would have been made in the meantime are left out.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Overlap is what is done when the Action before is not over. Default: Forbid.
	//
	// +optional
	// +kubebuilder:default=Forbid
	Overlap Overlap `json:"overlap,omitempty"`
	// Deadline is how late an Action may be made, when the operator was away at its time. Of
	// several that were missed, the last is made. Default: 10m.
	//
	// +optional
	Deadline *metav1.Duration `json:"deadline,omitempty"`
	// SuccessfulHistory is how many Actions are kept that succeeded. Default: 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulHistory *int32 `json:"successfulHistory,omitempty"`
	// FailedHistory is how many are kept that failed or were canceled. Default: 3.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedHistory *int32 `json:"failedHistory,omitempty"`
	// Template is the spec of the Actions.
	Template ActionSpec `json:"template"`
}

// ActionScheduleStatus is what was made.
type ActionScheduleStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are Ready, and Reconciling or Stalled while they are true.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastScheduledAt is the time for which the last Action was made.
	LastScheduledAt *metav1.Time `json:"lastScheduledAt,omitempty"`
	// NextAt is when the next one is due.
	NextAt *metav1.Time `json:"nextAt,omitempty"`
	// Active are the Actions that are not over.
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
