package bundletest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// Options of Run.
type Options struct {
	// Dir is the directory of the bundle, in either layout.
	Dir string
	// From is the directory of the bundle of a previous version, which is installed first and upgraded. It may be empty.
	From string
	// With are directories of bundles and packages that the bundle depends on.
	With []string
	// Run is a shell command that runs the operator on this machine, in place of the Deployment of the bundle. If it is empty, the operator
	// runs in pods on a container node.
	Run string
	// FromRun is the command of the previous version. The default is Run.
	FromRun string
	// Archives are files with images, which are loaded into the node. Other images are pulled from registries.
	Archives []string
	// Mode is the install mode. The default is the first one that the bundle supports, of OwnNamespace, SingleNamespace, MultiNamespace and
	// AllNamespaces.
	Mode bundle.InstallMode
	// Idle is the time without any progress after which a stage fails. The default is DefaultIdle.
	Idle time.Duration
	// Prove is the time in which test cases with faults are started, which Prover runs. It needs Run. 0: there are none.
	Prove  time.Duration
	Prover Prover
	// Keep keeps the cluster.
	Keep bool
	// Progress receives a line for each step. The default drops them.
	Progress io.Writer
}

// modes are the install modes, in the order in which they are preferred.
var modes = []bundle.InstallMode{bundle.OwnNamespace, bundle.SingleNamespace, bundle.MultiNamespace, bundle.AllNamespaces}

// begin reads the bundles, and returns an error if they cannot be tested. It starts nothing.
func begin(options Options) (*test, error) {
	for _, file := range options.Archives {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("--load %s: %w", file, errors.Unwrap(err))
		}
	}
	options.Idle = cmp.Or(options.Idle, DefaultIdle)
	options.FromRun = cmp.Or(options.FromRun, options.Run)
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	t := &test{Options: options, report: &Report{Dir: options.Dir, Stages: []Stage{}}, steps: slices.Clone(steps)}
	read, err := bundle.Read(options.Dir)
	if err != nil {
		return nil, err
	}
	t.bundle = &version{Bundle: read, command: options.Run}
	if options.From != "" {
		if t.previous, err = previous(options); err != nil {
			return nil, err
		}
		t.report.From = t.previous.Name()
	}
	for _, dir := range options.With {
		more, err := bundle.Open(dir)
		if err != nil {
			return nil, err
		}
		t.with = append(t.with, more...)
	}
	if read.CSV == nil {
		return t, nil // the lint reports why
	}
	t.report.Name = read.CSV.Name
	return t, t.check()
}

// previous reads the previous version, which must be complete.
func previous(options Options) (*version, error) {
	read, err := bundle.Read(options.From)
	if err != nil {
		return nil, err
	}
	if len(read.Problems) > 0 {
		return nil, fmt.Errorf("the previous version cannot be read: %w", read.Problems[0])
	}
	v := &version{Bundle: read, command: options.FromRun}
	return v, v.readSamples()
}

// check returns an error for a test that cannot be run with the bundle as it is.
func (t *test) check() error {
	all := []*version{t.bundle}
	if t.previous != nil {
		if t.previous.CSV.Name == t.bundle.CSV.Name {
			return fmt.Errorf("--from %s: it is the same version, %s", t.From, t.bundle.CSV.Name)
		}
		all = append(all, t.previous)
	}
	if t.Run != "" {
		for _, v := range all {
			if err := v.checkProcess(); err != nil {
				return err
			}
		}
	}
	return t.chooseMode(all)
}

// checkProcess returns an error if the operator cannot be run as one process outside of the cluster.
func (v *version) checkProcess() error {
	spec := v.CSV.Spec
	switch {
	case len(spec.Webhooks) > 0:
		return fmt.Errorf("--run: %s has webhooks, which API servers find only in pods: test it without --run", v.CSV.Name)
	case len(spec.APIServices.Owned) > 0:
		return fmt.Errorf("--run: %s has API services, which API servers find only in pods: test it without --run", v.CSV.Name)
	case len(spec.Install.Spec.Deployments) > 1:
		return fmt.Errorf("--run: %s has %d Deployments, and --run runs one process: test it without --run", v.CSV.Name, len(spec.Install.Spec.Deployments))
	}
	return nil
}

// chooseMode sets the install mode that all versions have to support. If none is supported, the lint reports it.
func (t *test) chooseMode(all []*version) error {
	supported := slices.DeleteFunc(slices.Clone(modes), func(mode bundle.InstallMode) bool {
		return slices.ContainsFunc(all, func(v *version) bool { return !v.CSV.Spec.Supports(mode) })
	})
	switch {
	case t.Mode == "" && len(supported) > 0:
		t.Mode = supported[0]
	case t.Mode == "" && t.previous != nil:
		return fmt.Errorf("%s and %s have no install mode in common", t.previous.CSV.Name, t.bundle.CSV.Name)
	case t.Mode != "" && !slices.Contains(modes, t.Mode):
		return fmt.Errorf("--install-mode %s: want OwnNamespace, SingleNamespace, MultiNamespace or AllNamespaces", t.Mode)
	case t.Mode != "" && !slices.Contains(supported, t.Mode):
		return fmt.Errorf("--install-mode %s: the bundle supports %s", t.Mode, strings.Trim(fmt.Sprint(supported), "[]"))
	}
	t.report.Mode = string(t.Mode)
	return nil
}

// version is a bundle under test.
type version struct {
	*bundle.Bundle
	// command is the command that runs its operator, or empty.
	command string
	samples []*unstructured.Unstructured
}

// samplesAnnotation is the annotation of a ClusterServiceVersion with samples.
const samplesAnnotation = "alm-examples"

// readSamples reads the samples. The lint checks them before.
func (v *version) readSamples() error {
	text := v.CSV.Annotations[samplesAnnotation]
	if text == "" {
		return nil
	}
	var all []map[string]any
	if err := utiljson.Unmarshal([]byte(text), &all); err != nil {
		return fmt.Errorf("%s: %s: %w", v.CSV.Name, samplesAnnotation, err)
	}
	for _, fields := range all {
		v.samples = append(v.samples, &unstructured.Unstructured{Object: fields})
	}
	return nil
}
