package bundletest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// TestMain runs the operator of the bundles instead of the tests, if a test has started it.
func TestMain(m *testing.M) {
	if habits, found := os.LookupEnv(behavior); found {
		fmt.Println(runGadgets(habits))
		os.Exit(1)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they spend most of their time waiting
		panic(err)
	}
	timing.settled = 12 * time.Second // on a slow machine, an operator needs that long to start and to change an object
	timing.interval = time.Second     // several tests that look five times a second leave two cores no time for what they wait for
	os.Exit(m.Run())
}

// impatient is the idle time of stages that have to fail because nothing happens. On two busy cores, the manager may need more than ten seconds for
// one object. A removal may wait longer for what it deletes.
const impatient, impatientRemoval = 30 * time.Second, time.Minute

// tried is a bundle, and what its test has to find: for each stage that does not pass, or has notes, a part of the text. A stage that is not
// named has to pass.
type tried struct {
	edits []edit
	// from are edits of a previous version. It is nil if there is none.
	from []edit
	// habits are those of the operator, and fromHabits those of the previous one.
	habits, fromHabits string
	// idle is the stage that has to fail because nothing happens, if any.
	idle string
	mode bundle.InstallMode
	keep bool
	// prove is the answer of the prover. If it is nil, none is asked.
	prove *Proven
	with  bool // a bundle that provides Gadgets of power.example.com
	want  map[string]string
}

var noPermission = edit{`        - {apiGroups: [apps], resources: [deployments], verbs: [create]}` + "\n", ""}

// colored is a CRD with another field, which the sample has.
var colored = []edit{{"{size: {type: integer}}", "{size: {type: integer}, color: {type: string}}"}, {`"name": "first", "namespace": "elsewhere"}, "spec": {"size": 1}`, `"name": "second"}, "spec": {"color": "red"}`}}

const skippedUpgrade, skippedRollback = "skipped: there is no previous version", "skipped: there is no previous version"

var all = map[string]tried{
	"proven": {prove: &Proven{Failures: []string{"alive: it ends"}, Notes: []string{"3 cases"}}, want: map[string]string{
		"prove": "fail: alive: it ends\nnote: 3 cases", "upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"good": {want: map[string]string{
		"install": "pass: note: the variable PATH of the container manager is left out", "upgrade": skippedUpgrade, "rollback": skippedRollback,
		"permissions": "pass: note: permissions that the test did not need:\ncreate configmaps\ndeletecollection pods",
	}},
	"single": {mode: bundle.SingleNamespace, want: map[string]string{"upgrade": skippedUpgrade, "rollback": skippedRollback}},
	"upgraded": {from: []edit{}, edits: colored, want: map[string]string{
		"rollback": "pass: there is no way back to gadgets.v1.0.0 without a loss",
	}},
	"needy": {edits: []edit{{"    owned:\n", "    required:\n    - {name: sockets.power.example.com, version: v1, kind: Socket}\n    owned:\n"}}, want: map[string]string{
		"install": "fail: Socket", "samples": "skipped: stage install has failed", "upgrade": "skipped", "rollback": "skipped", "delete": "skipped", "permissions": "skipped", "uninstall": "skipped",
	}},
	"fed": {edits: []edit{{"    owned:\n", "    required:\n    - {name: gadgets.power.example.com, version: v1, kind: Gadget}\n    owned:\n"}}, with: true, want: map[string]string{
		"upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"old": {edits: []edit{{"minKubeVersion: 1.28.0", "minKubeVersion: 1.99.0"}}, want: map[string]string{
		"install": "fail: requirements are not met", "samples": "skipped", "upgrade": "skipped", "rollback": "skipped", "delete": "skipped", "permissions": "skipped", "uninstall": "skipped",
	}},
	"refused": {edits: []edit{{`"name": "first"`, `"name": "Not_A_Name"`}}, want: map[string]string{
		"samples": `fail: create sample Gadget bt-refused/Not_A_Name: Gadget`, "upgrade": "skipped", "rollback": "skipped", "delete": "skipped: there are no custom resources",
	}},
	"forbidden": {edits: []edit{noPermission}, want: map[string]string{
		"permissions": "fail: the operator may not create deployments.apps", "upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"hoarder": {habits: "hoards", idle: "delete", want: map[string]string{
		"delete": "fail: Gadget bt-hoarder/first", "uninstall": "skipped: stage delete has failed", "upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"dropped": {from: []edit{}, edits: []edit{{"- name: v1\n", "- name: v2\n"}, {"version: v1, kind: Gadget", "version: v2, kind: Gadget"}, {"$GROUP/v1", "$GROUP/v2"}, {"value: v1}", "value: v2}"}}, want: map[string]string{
		"upgrade": "fail: version-dropped", "rollback": "skipped: stage upgrade has failed",
	}},
	"silent": {habits: "silent", want: map[string]string{
		"samples": "pass: note: Gadget bt-silent/first was accepted: it has no conditions", "upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"kept": {habits: "slow", idle: "samples", keep: true, want: map[string]string{
		"samples": "fail: Gadget bt-kept/first", "upgrade": "skipped", "rollback": "skipped", "delete": "skipped: an earlier stage has failed, and its objects are kept",
		"uninstall": "skipped: an earlier stage",
	}},
	"slow": {habits: "slow", idle: "samples", want: map[string]string{
		"samples": "fail: Gadget bt-slow/first", "upgrade": "skipped", "rollback": "skipped",
	}},
	"litterer": {habits: "litters", idle: "uninstall", want: map[string]string{
		"uninstall": "fail: left: ConfigMap bt-litterer/forgotten", "upgrade": skippedUpgrade, "rollback": skippedRollback,
	}},
	"restarter": {from: []edit{}, habits: "restarts", want: map[string]string{
		"upgrade": "was replaced, although the template of Deployment bt-restarter/first is the same", "rollback": "skipped: stage upgrade has failed",
	}},
	"crasher": {habits: "crashes", want: map[string]string{
		"samples": "fail: the operator exited with code 3", "permissions": "skipped: the operator has ended", "upgrade": "skipped", "rollback": "skipped",
	}},
}

// Bundles are tested on one cluster, each in its own namespace and with its own API group. A good one passes all stages, and one with a mistake
// fails in the stage of the mistake. At the end, nothing is left of the cluster.
func TestBundles(t *testing.T) {
	t.Parallel()
	name, dir := "", ""
	err := onGround(t.Context(), Options{Run: "true", Progress: os.Stderr}, func(ctx context.Context, g *ground) error {
		name, dir = g.name, g.dir
		t.Run("on one cluster", func(t *testing.T) {
			for name, one := range all {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					one.try(ctx, t, name, g)
				})
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := local.List(t.Context())
	if err != nil || slices.ContainsFunc(left, func(c local.Cluster) bool { return c.Name == name }) {
		t.Errorf("clusters %+v are left, error %v", left, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

func (c tried) try(ctx context.Context, t *testing.T, name string, g *ground) {
	t.Helper()
	namespace := "bt-" + name
	group := namespace + ".example.com"
	options := Options{Dir: write(t, group, "1.1.0", c.edits...), Run: command(c.habits), Mode: c.mode, Keep: c.keep, Idle: localtest.Patience}
	if c.from != nil {
		options.From, options.FromRun = write(t, group, "1.0.0", c.from...), command(c.fromHabits)
	}
	if c.with {
		options.With = []string{write(t, "power.example.com", "2.0.0", edit{"package.v1: gadgets", "package.v1: power"}, edit{"gadgets.v", "power.v"}, edit{"- name: gadgets\n", "- name: power\n"},
			edit{"gadgets-operator", "power-operator"}, edit{"builder", "power-builder"})}
	}
	if c.prove != nil {
		options.Prove, options.Prover = time.Minute, func(_ context.Context, of Proof) (*Proven, error) {
			checkProof(t, of, group)
			return c.prove, nil
		}
	}
	tested, err := begin(options)
	if err != nil {
		t.Fatal(err)
	}
	tested.namespace = namespace
	for i, one := range tested.steps {
		if one.name == c.idle {
			tested.steps[i].run = func(t *test, ctx context.Context) (Stage, error) {
				defer func(usual time.Duration) { t.Idle = usual }(t.Idle)
				t.Idle = impatient
				if one.name == "uninstall" {
					t.Idle = impatientRemoval
				}
				return one.run(t, ctx)
			}
		}
	}
	tested.mine = func(object *unstructured.Unstructured) bool {
		return strings.Contains(object.GetNamespace()+"/"+object.GetName(), namespace)
	}
	if passed, err := tested.lint(ctx); err != nil || !passed {
		t.Fatalf("%+v: %v", tested.report, err)
	}
	if err := tested.run(ctx, g); err != nil {
		t.Fatal(err)
	}
	for _, stage := range tested.report.Stages {
		t.Logf("%+v", stage)
		got := fmt.Sprintf("%s: %s", stage.Result, strings.Join(append([]string{stage.Message}, notes(stage)...), "\n"))
		want, named := c.want[stage.Name]
		switch {
		case named:
		case stage.Name == "prove" && c.prove == nil:
			want = "skipped: "
		default:
			want = "pass: "
		}
		result, text, _ := strings.Cut(want, ": ")
		if stage.Name == "upgrade" && name == "restarter" {
			result, text = "fail", want
		}
		if stage.Name != c.idle && strings.Contains(got, "nothing new") {
			t.Errorf("%s was noticed only after a time without progress: %s", stage.Name, got)
		}
		if string(stage.Result) != result || !strings.Contains(got, text) {
			t.Errorf("%s: got %s; want %s", stage.Name, got, want)
		}
	}
	if len(tested.report.Stages) != 1+len(steps) || tested.report.Failed() != slices.ContainsFunc(tested.report.Stages, func(s Stage) bool { return s.Result == Fail }) {
		t.Errorf("the report is %+v", tested.report)
	}
}

// checkProof checks what a prover gets: the operator starts with the environment and arguments that it has in the bundle.
func checkProof(t *testing.T, of Proof, group string) {
	t.Helper()
	for _, part := range []string{"'WATCH_NAMESPACE={namespace}'", "'POD_NAMESPACE={namespace}'", "'GREETING=hello {namespace}'", "'--group=" + group + "'"} {
		if !strings.Contains(of.Run, part) {
			t.Errorf("the command lacks %s: %s", part, of.Run)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	run := exec.CommandContext(ctx, "/bin/sh", "-c", of.Run)
	run.Env = append(os.Environ(), "KUBECONFIG=/nowhere")
	if output, err := run.CombinedOutput(); err == nil || !strings.Contains(string(output), "/nowhere") { // it has accepted its environment
		t.Errorf("%s: %v, %s", of.Run, err, output)
	}
	if len(of.CRDs) != 1 || len(of.Samples) != 1 || of.Samples[0].GetNamespace() != "" || of.Budget != time.Minute {
		t.Errorf("the prover gets %+v", of)
	}
	var granted []string
	for _, one := range of.Permissions {
		rules, _, err := unstructured.NestedSlice(one.Object, "rules")
		granted = append(granted, fmt.Sprintf("%s %s %d %v", one.GetKind(), one.GetName(), len(rules), err))
	}
	if strings.Join(granted, ", ") != "Role gadgets.v1.1.0 4 <nil>" {
		t.Errorf("the prover gets %s", granted)
	}
}

func notes(stage Stage) []string {
	var all []string
	for _, note := range stage.Notes {
		all = append(all, "note: "+note)
	}
	return all
}

// command returns the command that runs this binary as an operator.
func command(habits string) string { return behavior + "='" + habits + "' exec '" + os.Args[0] + "'" }

// An interrupted test leaves nothing behind: no cluster, and no operator.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := filepath.Join(t.TempDir(), "pid")
	options := Options{Dir: write(t, "interrupted.example.com", "1.0.0"), Run: "echo $$ > " + pid + "; " + command("slow"), Progress: &strings.Builder{}}
	ended := make(chan error, 1)
	go func() {
		report, err := Run(ctx, options)
		if report != nil {
			err = fmt.Errorf("the report is %+v, error %w", report, err)
		}
		ended <- err
	}()
	number := 0
	localtest.Eventually(t, "the start of the operator", func(context.Context) error {
		text, err := os.ReadFile(pid)
		if err == nil {
			number, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	})
	cancel()
	if err := localtest.Receive(t, "the end of the test", ended); err != context.Canceled { //nolint:errorlint // nothing else went wrong
		t.Errorf("the error is %v", err)
	}
	_, name, found := strings.Cut(fmt.Sprint(options.Progress), "starting cluster ")
	name, _, _ = strings.Cut(name, "\n")
	left, err := local.List(t.Context())
	if err != nil || !found || slices.ContainsFunc(left, func(c local.Cluster) bool { return c.Name == name }) {
		t.Errorf("clusters %+v are left, of cluster %q, error %v", left, name, err)
	}
	if err := syscall.Kill(number, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the operator runs as process %d, error %v", number, err)
	}
}

// Errors of the bundle end the test before a cluster is started.
func TestLint(t *testing.T) {
	t.Parallel()
	report, err := Run(t.Context(), Options{Dir: write(t, "lint.example.com", "1.0.0", edit{`"size": 1`, `"size": "large"`}), Run: "true"})
	if err != nil {
		t.Fatal(err)
	}
	first := report.Stages[0]
	if first.Result != Fail || !strings.Contains(first.Message, "spec.size") || len(report.Stages) != 1+len(steps) {
		t.Errorf("the report is %+v", report)
	}
	for _, stage := range report.Stages[1:] {
		if stage.Result != Skipped {
			t.Errorf("%+v", stage)
		}
	}
}

// What cannot be tested is one error.
func TestWhatCannotBeTested(t *testing.T) {
	t.Parallel()
	good := write(t, "a.example.com", "1.0.0")
	hook := edit{"  install:\n", "  webhookdefinitions:\n  - {type: ValidatingAdmissionWebhook, generateName: a.example.com, deploymentName: gadgets}\n  install:\n"}
	for want, options := range map[string]Options{
		"there is no directory /nowhere": {Dir: "/nowhere"},
		"there is no directory /before":  {Dir: good, From: "/before"},
		"there is no directory /with":    {Dir: good, With: []string{"/with"}},
		"it is the same version":         {Dir: good, From: good},
		"--load /nothing: no such file":  {Dir: good, Archives: []string{"/nothing"}},
		"--install-mode None: want":      {Dir: good, Mode: "None"},
		"--install-mode AllNamespaces: the bundle supports OwnNamespace SingleNamespace": {Dir: good, Mode: bundle.AllNamespaces},
		"has webhooks, which API servers find only in pods":                              {Dir: write(t, "a.example.com", "1.0.0", hook), Run: "true"},
		"the previous version cannot be read":                                            {Dir: good, From: write(t, "a.example.com", "0.9.0", edit{"displayName: Gadgets", "displayName: [1]"})},
		"have no install mode in common":                                                 {Dir: good, From: write(t, "a.example.com", "0.9.0", edit{"Namespace, supported: true", "Namespace, supported: false"})},
	} {
		if _, err := begin(options); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// An image with another name in the file than in the bundle is noted before a pod waits for it.
func TestImagesThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	dir := write(t, "a.example.com", "1.0.0")
	for loaded, want := range map[string]string{
		"":                                   "",
		"registry.example.com/gadgets:1.0.0": "",
		"docker.io/library/gadgets:1.0.0":    "the node pulls image registry.example.com/gadgets:1.0.0 of Deployment gadgets: the files of --load have docker.io/library/gadgets:1.0.0",
	} {
		var progress strings.Builder
		tested, err := begin(Options{Dir: dir, Progress: &progress})
		if err != nil {
			t.Fatal(err)
		}
		tested.ground = &ground{}
		if loaded != "" {
			tested.loaded = []string{loaded}
		}
		got := strings.Join(tested.notLoaded(tested.bundle), "\n")
		if got != want || (got != "") != strings.Contains(progress.String(), "note: the node pulls") {
			t.Errorf("%q: got %q, and printed %q; want %q", loaded, got, progress.String(), want)
		}
	}
}

// A state that alternates, or differs only in numbers, is no progress.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	tested := &test{Options: Options{Idle: time.Second}}
	count := 0
	err := tested.await(t.Context(), func(time.Duration) (bool, string, error) {
		count++
		return false, fmt.Sprintf("%s after %d s", []string{"ErrImagePull", "ImagePullBackOff"}[count%2], count), nil
	})
	var idle *idleError
	if !errors.As(err, &idle) || !strings.Contains(err.Error(), "nothing new for 1s") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tested.await(ctx, func(time.Duration) (bool, string, error) { return false, "", nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPlaceless(t *testing.T) {
	t.Parallel()
	tested := &test{namespace: "bt"}
	for text, want := range map[string]string{
		"'A=bt' --ns=bt bt": "'A={namespace}' --ns={namespace} {namespace}", "bt,other-bt": "{namespace},{namespace}", "bt-x.bt.y xbt Xbt": "bt-x.bt.y xbt Xbt",
	} {
		if got := tested.placeless(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	values := map[string]string{"A": "1", "B.C": "2"}
	for text, want := range map[string]string{"$(A)-$(B.C)": "1-2", "$$(A)": "$(A)", "$(D) $A ${A} $": "$(D) $A ${A} $"} {
		if got := expand(text, values); got != want {
			t.Errorf("%s: got %s; want %s", text, got, want)
		}
	}
}

func TestReportText(t *testing.T) {
	t.Parallel()
	report := &Report{Name: "a.v1", Cluster: "c", Namespace: "n", Stages: []Stage{
		{Name: "lint", Version: "a.v1", Result: Pass, Seconds: 0.04, Notes: []string{"2 warnings"}},
		{Name: "install", Version: "a.v1", Result: Fail, Seconds: 61, Message: "one\ntwo"},
		{Name: "rollback", Result: Skipped, Message: "nothing"},
	}}
	want := `pass     lint      a.v1  0s
    note: 2 warnings
fail     install   a.v1  1m1s
    one
    two
skipped  rollback        nothing
cluster c runs: operon kubectl --cluster c get all -n n; operon cluster down c
`
	var out strings.Builder
	if err := report.Text(&out); err != nil || out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
