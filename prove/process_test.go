package prove

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
)

// proven tests a target that is a program.
func proven(t *testing.T, target Target, change func(*Options)) (*report.Report, Options) {
	t.Helper()
	options, err := target.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	change(&options)
	found, err := Prove(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return found, options
}

// An operator that is not written in Go passes without changes.
func TestPython(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	needs(t, "python3")
	target := Target{Run: "exec python3 testdata/shell/notes.py", CRDs: "testdata/shell/crd.yaml", Samples: "testdata/shell/sample.yaml"}
	found, _ := proven(t, target, func(o *Options) { o.Plans, o.Budget = 8, 30*time.Second })
	if found.Failures() > 0 || found.Plans.Run == 0 {
		t.Errorf("in %d plans there is found:\n%s", found.Plans.Run, textOf(t, found))
	}
}

// An operator in shell (kubectl in a loop) and its planted bug: the objects that it creates have no owner.
func TestShell(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	needs(t, "bash")
	binary, err := local.Binary(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	target := Target{
		Run: fmt.Sprintf("KUBECTL='%s kubectl' exec bash testdata/shell/notes.sh", binary), CRDs: "testdata/shell/crd.yaml", Samples: "testdata/shell/sample.yaml",
	}
	found, _ := proven(t, target, func(o *Options) { o.Plans, o.Budget, o.FailFast = 2, 30*time.Second, true }) // the run without faults shows it
	if !slices.ContainsFunc(found.Findings, func(f finding.Finding) bool { return f.Property == finding.NothingLeft && f.Of.Kind == "ConfigMap" }) {
		t.Errorf("in %d plans there is found:\n%s", found.Plans.Run, textOf(t, found))
	}
}

// quietPort returns a free port that the system does not assign automatically.
func quietPort(t *testing.T) int {
	t.Helper()
	for port := 20000; port < 30000; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return 0
}

// Only one instance at a time is run of an operator that always listens on the same port.
func TestFixedPort(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	needs(t, "python3")
	const listening = `exec python3 -c 'import runpy, socket; s = socket.create_server(("127.0.0.1", %d)); runpy.run_path("testdata/shell/notes.py", run_name="__main__")'`
	target := Target{Run: fmt.Sprintf(listening, quietPort(t)), CRDs: "testdata/shell/crd.yaml", Samples: "testdata/shell/sample.yaml"}
	found, _ := proven(t, target, func(o *Options) { o.Plans, o.Budget = 2, 30*time.Second })
	if found.Failures() > 0 || found.Plans.Run == 0 {
		t.Errorf("in %d plans there is found:\n%s", found.Plans.Run, textOf(t, found))
	}
	if notes := strings.Join(found.Notes, "; "); !strings.Contains(notes, "same port") {
		t.Errorf("the notes are %q", notes)
	}
}

// Samples of a kind that the cluster does not have are reported before the operator is started.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	sample := filepath.Join(t.TempDir(), "sample.yaml")
	if err := os.WriteFile(sample, []byte("apiVersion: nowhere.operon.dev/v1\nkind: Thing\nmetadata: {name: one}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := Target{Run: "false", Samples: sample}.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	if _, err := Prove(t.Context(), options); err == nil || !strings.Contains(err.Error(), "unknown kind Thing in nowhere.operon.dev/v1") {
		t.Errorf("%v", err)
	}
}

// needs skips a test if a program is missing that not every machine has.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		testaid.Lacks(t, "this test runs an operator in another language, and there is no %s", program)
	}
}

// A kubebuilder project passes without changes.
func TestKubebuilder(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	found, _ := proven(t, Target{Dir: "testdata/kubebuilder"}, func(o *Options) { o.Plans, o.Budget = 8, 30*time.Second })
	if found.Failures() > 0 || found.Plans.Run == 0 {
		t.Errorf("in %d plans there is found:\n%s", found.Plans.Run, textOf(t, found))
	}
}

// A finding in this process can be reproduced in a program, from its file alone, and the result has such a file again.
func TestReplay(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "gallery")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", binary, "./testdata/gallery").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	file, err := ReadFile("testdata/gallery/plans/half-made.json")
	if err != nil {
		t.Fatal(err)
	}
	file.Target.Run = strings.Replace(file.Target.Run, "./gallery", binary, 1)
	options, err := file.Target.Load(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	options.Settle = file.Settle
	replayed, err := Replay(t.Context(), options, file)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(replayed.Findings, func(f finding.Finding) bool { return f.Key() == file.Finding })
	if at < 0 {
		t.Fatalf("%q is not repeated:\n%s", file.Finding, textOf(t, replayed))
	}
	if _, err := Write(t.TempDir(), replayed, file.Target, options); err != nil {
		t.Fatal(err)
	}
	written, err := ReadFile(replayed.Findings[at].File)
	if err != nil {
		t.Fatal(err)
	}
	if written.Finding != file.Finding || !equality.Semantic.DeepEqual(written.Plan, file.Plan) {
		t.Errorf("written is %+v", written)
	}
}
