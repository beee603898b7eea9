package projecttest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/projecttest/molecule"
	"github.com/operon-framework/operon/internal/tools/up"
)

// Options of Run.
type Options struct {
	// Dir is the project's directory.
	Dir string
	// Where is the cluster, by default the default local cluster.
	Where up.Where
	// Scenario is the name of a directory in molecule. If it is empty, molecule.DefaultName runs, if it exists.
	Scenario string
	// Timeout is the maximum duration of a step. The default is DefaultTimeout.
	Timeout time.Duration
	// Args are additional arguments of the operator.
	Args []string
	// Progress receives the progress and the output of playbooks. The default is the standard error of the process.
	Progress *os.File
}

// begin reads the project and its scenario, and returns an error if the project cannot be tested. It starts nothing.
func begin(options Options) (*test, error) {
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Progress == nil {
		options.Progress = os.Stderr
	}
	if err := isTestable(options.Dir); err != nil {
		return nil, err
	}
	p, err := project.Read(options.Dir, project.Options{})
	if err != nil {
		return nil, err
	}
	s, err := molecule.Find(p.Dir, options.Scenario)
	if err != nil {
		return nil, err
	}
	t := &test{options: options, scenario: s, report: &Report{Project: p.Name, Steps: []Step{}}}
	if s == nil {
		if len(p.Samples) == 0 {
			return nil, fmt.Errorf("%s has nothing to test: there are no samples in %s, and no scenario in molecule/%s", p.Dir, project.SampleFolder, molecule.DefaultName)
		}
		return t, nil
	}
	t.report.Scenario = s.Name
	return t, s.Check()
}

// isTestable returns an error for a directory without watches.yaml.
func isTestable(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || project.WithoutGo(dir) {
		return nil // package project reports what is wrong with a directory that does not exist
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fmt.Errorf("%s is a Go project: test it with `go test ./...`; `operon test` is for projects of Helm charts and Ansible roles", dir)
	}
	return fmt.Errorf("%s has no %s: name the directory of a project of Helm charts or Ansible roles", dir, project.WatchesFile)
}
