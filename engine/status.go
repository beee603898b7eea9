package engine

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// condition is a condition with the field that only Ansible operators have.
type condition struct {
	metav1.Condition `json:",inline"`
	AnsibleResult    *RunResult `json:"ansibleResult,omitempty"`
}

// plainStatus is a Status that is encoded field by field.
type plainStatus Status

// encoded is the JSON form of a Status.
type encoded struct {
	*plainStatus `json:",inline"`
	Conditions   []condition `json:"conditions,omitempty"`
}

// MarshalJSON implements json.Marshaler. It adds AnsibleResult to its condition.
func (s Status) MarshalJSON() ([]byte, error) {
	all := encoded{plainStatus: (*plainStatus)(&s)}
	for _, c := range s.Conditions {
		one := condition{Condition: c}
		if c.Type == s.resultCondition() {
			one.AnsibleResult = s.AnsibleResult
		}
		all.Conditions = append(all.Conditions, one)
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler. It takes AnsibleResult from its condition.
func (s *Status) UnmarshalJSON(content []byte) error {
	all := encoded{plainStatus: (*plainStatus)(s)}
	if err := json.Unmarshal(content, &all); err != nil {
		return err
	}
	s.Conditions = nil
	for _, c := range all.Conditions {
		s.Conditions = append(s.Conditions, c.Condition)
	}
	for _, c := range all.Conditions {
		if c.Type == s.resultCondition() {
			s.AnsibleResult = c.AnsibleResult
		}
	}
	return nil
}

// resultCondition returns the type of the condition that has AnsibleResult.
func (s Status) resultCondition() string {
	for _, c := range s.Conditions {
		if c.Type == "Failure" && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return "Running"
}
