package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/ship/bundle/bundletest"
	"github.com/operon-framework/operon/prove"
)

// proveBundle injects faults into the operator of a bundle, one test case at a time: the ports in the arguments of its container are fixed.
func proveBundle(ctx context.Context, of bundletest.Proof) (_ *bundletest.Proven, err error) {
	v := &proving{budget: of.Budget, settle: prove.DefaultSettle, plans: prove.DefaultPlans, workers: 1, seed: 1, out: prove.Output}
	if v.target, err = proofTarget(filepath.Join(v.out, "bundle"), of); err != nil {
		return nil, err
	}
	folder, remove, err := prove.Folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	progress := report.NewProgress(progressTo(os.Stderr), progressShown(os.Stderr), lookOf(os.Stderr))
	defer progress.Close()
	found, options, stop, err := v.test(ctx, folder, progress)
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	files, err := prove.Write(v.out, found, v.target, options)
	if err != nil {
		return nil, err
	}
	return provenBundle(found, files), nil
}

// proofTarget writes what the test cases need to a directory, where it stays for "operon prove --replay".
func proofTarget(dir string, of bundletest.Proof) (prove.Target, error) {
	target := prove.Target{
		Run: of.Run, CRDs: filepath.Join(dir, "crds.yaml"), Samples: filepath.Join(dir, "samples.yaml"), RBAC: filepath.Join(dir, "rbac.yaml"),
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return target, err
	}
	for file, objects := range map[string][]*unstructured.Unstructured{target.CRDs: of.CRDs, target.Samples: of.Samples, target.RBAC: of.Permissions} {
		var text bytes.Buffer
		for _, object := range objects {
			content, err := yaml.Marshal(object.Object)
			if err != nil {
				return target, err
			}
			fmt.Fprintf(&text, "---\n%s", content)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			return target, err
		}
	}
	return target, nil
}

// provenBundle returns the findings in a line each.
func provenBundle(found *report.Report, files []report.File) *bundletest.Proven {
	proven := &bundletest.Proven{Notes: []string{plural.Count(found.Plans.Run, "test case") + " with faults"}}
	for i := range found.Findings {
		f := &found.Findings[i]
		if !f.Fails() {
			continue
		}
		line := fmt.Sprintf("%s: %s", f.Property, f.Message)
		if f.File != "" {
			line += fmt.Sprintf(" (operon prove --trust-file --replay %s)", f.File)
		}
		proven.Failures = append(proven.Failures, line)
	}
	for _, file := range files {
		if file.What == "page" {
			proven.Notes = append(proven.Notes, "the report: "+file.Path)
		}
	}
	return proven
}
