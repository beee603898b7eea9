package workload_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/internal/tools/project"
)

var rewrite = flag.Bool("rewrite", false, "write the workloads as they are now")

// given contains the files of a project: its definitions, its samples, and the expected workloads.
type given struct{ crds, samples, golden string }

var projects = map[string]given{
	"chart":     {"testdata/projects/chart/crd.yaml", "testdata/projects/chart/samples.yaml", "chart"},
	"memcached": {"../../../examples/memcached/config/crd/cache.example.com_memcacheds.yaml", "../../../examples/memcached/config/samples/memcached.yaml", "memcached"},
	"database":  {"testdata/projects/database/crd.yaml", "testdata/projects/database/samples.yaml", "database"},
	"website":   {"testdata/projects/website/crd.yaml", "testdata/projects/website/samples.yaml", "website"},
	"batch":     {"testdata/projects/batch/crd.yaml", "testdata/projects/batch/samples.yaml", "batch"},
}

func read(t testing.TB, file string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := project.ReadFile(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, object := range objects {
		all = append(all, object.Unstructured)
	}
	return all
}

// The workloads of each project are the expected ones in a file.
func TestWorkloadsOfProjects(t *testing.T) {
	t.Parallel()
	for name, given := range projects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			samples, crds := read(t, given.samples), read(t, given.crds)
			operations, err := workload.Operations(samples, crds, workload.Options{Limit: 200})
			if err != nil {
				t.Fatal(err)
			}
			all := append([]workload.Workload{workload.Sample(samples, crds)}, workload.Around(samples, crds)...)
			all = append(all, operations...)
			var text strings.Builder
			names := map[string]bool{}
			for _, w := range all {
				if err := w.Validate(); err != nil {
					t.Error(err)
				}
				if names[w.Name] {
					t.Errorf("two workloads are named %q", w.Name)
				}
				names[w.Name] = true
				text.WriteString(written(w))
			}
			compare(t, filepath.Join("testdata", "projects", given.golden+".txt"), text.String())
		})
	}
}

// written formats a workload for people.
func written(w workload.Workload) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", w.Name)
	for _, s := range w.Steps {
		fmt.Fprintf(&text, "    %s:", s.Name)
		for _, object := range s.Apply {
			fmt.Fprintf(&text, " +%s", object.GetName())
		}
		for _, ref := range s.Delete {
			fmt.Fprintf(&text, " -%s", ref)
		}
		if s.Drift != nil {
			fmt.Fprintf(&text, " drift %s %v", s.Drift.Of, s.Drift.Patch)
		}
		if s.Fail != nil {
			fmt.Fprintf(&text, " fail %s", s.Fail.How)
		}
		for _, mark := range []struct {
			text string
			is   bool
		}{{" heal", s.Heal}, {" REFUSED", s.Refused}, {" fresh", s.Fresh && !s.Guess}, {" fresh?", s.Guess}, {" =" + s.Same, s.Same != ""}} {
			if mark.is {
				text.WriteString(mark.text)
			}
		}
		if s.Unmet != nil {
			fmt.Fprintf(&text, " without %s", s.Unmet)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if string(want) == got && err == nil {
		return
	}
	if !*rewrite {
		t.Errorf("%s differs (-rewrite accepts it): got\n%s", file, got)
		return
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
