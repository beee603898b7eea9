package bundletest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result is the result of a stage.
type Result string

// The results.
const (
	Pass    Result = "pass"
	Fail    Result = "fail"
	Skipped Result = "skipped" // because of an earlier stage, or because there is nothing to test
)

// Report is the result of a test. Its JSON is stable.
type Report struct {
	// Dir is the directory of the bundle, and Name the name of its ClusterServiceVersion. It is empty if there is none.
	Dir  string `json:"dir"`
	Name string `json:"name,omitempty"`
	// From is the name of the previous version, if one was installed before.
	From string `json:"from,omitempty"`
	// Mode is the install mode of the test.
	Mode string `json:"installMode,omitempty"`
	// Cluster is the name of the cluster, if it was kept, and Namespace that of the operator.
	Cluster   string  `json:"cluster,omitempty"`
	Namespace string  `json:"namespace,omitempty"`
	Stages    []Stage `json:"stages"`
}

// Stage is one stage of a test.
type Stage struct {
	Name string `json:"name"`
	// Version is the name of the ClusterServiceVersion that the stage is about.
	Version string  `json:"version,omitempty"`
	Result  Result  `json:"result"`
	Seconds float64 `json:"seconds"`
	// Message is the reason of a stage that did not pass, or what a stage found.
	Message string `json:"message,omitempty"`
	// Notes are facts that do not change the result.
	Notes []string `json:"notes,omitempty"`
}

// Failed reports whether a stage failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Result == Fail })
}

// Text prints a line for each stage, with its message and notes below.
func (r *Report) Text(out io.Writer) error {
	names, versions := 0, 0
	for _, stage := range r.Stages {
		names, versions = max(names, len(stage.Name)), max(versions, len(stage.Version))
	}
	var text strings.Builder
	for _, stage := range r.Stages {
		took := (time.Duration(stage.Seconds * float64(time.Second))).Round(100 * time.Millisecond).String()
		if stage.Result == Skipped {
			took = stage.Message
		}
		fmt.Fprintln(&text, strings.TrimRight(fmt.Sprintf("%-7s  %-*s  %-*s  %s", stage.Result, names, stage.Name, versions, stage.Version, took), " "))
		if stage.Message != "" && stage.Result != Skipped {
			fmt.Fprintf(&text, "    %s\n", indent(stage.Message))
		}
		for _, note := range stage.Notes {
			fmt.Fprintf(&text, "    note: %s\n", indent(note))
		}
	}
	if r.Cluster != "" {
		fmt.Fprintf(&text, "cluster %s runs: operon kubectl --cluster %s get all -n %s; operon cluster down %s\n", r.Cluster, r.Cluster, r.Namespace, r.Cluster)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }
