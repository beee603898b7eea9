package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// role is the variable that makes the test binary act as an operator program.
const role = "WORLD_TEST_ROLE"

// inPod is the role of an operator that uses only the settings of a pod.
const inPod = "in-pod"

func play(name string) {
	if name != inPod {
		panic(name)
	}
	config, err := rest.InClusterConfig()
	if err == nil {
		err = boxOperator{}.run(ctrl.SetupSignalHandler(), runner.Access{Config: config})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pod returns that operator. It skips the test on machines that cannot mount files for a single process.
func pod(t *testing.T) runner.Process {
	t.Helper()
	operator := runner.Process{Path: os.Args[0], Env: []string{role + "=" + inPod, "KUBECONFIG="}}
	if err := operator.InCluster(); err != nil {
		testaid.Lacks(t, "this machine shows a process no files of its own: %v", err)
	}
	return operator
}

// An operator that reads its cluster from the settings of a pod uses the proxy.
func TestInCluster(t *testing.T) {
	t.Parallel()
	stage := newStage(t, pod(t))
	seen := carry(t, stage, life)
	checkLife(t, seen)
	checkInstances(t, seen, 1)
	if left, err := filepath.Glob(filepath.Join(stage.Folder, "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
		t.Error("this process sees the operator's token")
	}
}

// After a kill, the new instance gets its own settings. An expired token is replaced in the directory.
func TestInClusterFaults(t *testing.T) {
	t.Parallel()
	stage := newStage(t, pod(t))
	on := fault.Match{Verb: "create", Resource: "configmaps"}
	for name, one := range map[string]struct {
		fault     fault.Fault
		instances int
		refused   bool
	}{
		"kill":   {fault.Fault{Kind: fault.Kill, Moment: fault.Effect, On: on}, 2, false},
		"expire": {fault.Fault{Kind: fault.Expire, On: on}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pace := runner.Pace{Unsure: 3 * time.Second, Patience: time.Minute} // a start, and a retry after a new token, are not quick
			seen, err := stage.Carry(t.Context(), testplan.Plan{Name: t.Name(), Workload: life, Faults: []fault.Fault{one.fault}}, pace)
			if err != nil {
				t.Fatal(err)
			}
			checkLife(t, seen)
			checkInstances(t, seen, one.instances)
			refused := slices.ContainsFunc(seen.Requests, func(r requestlog.Request) bool { return r.Status == 401 })
			if len(seen.Pending) > 0 || refused != one.refused {
				t.Errorf("pending are %v, refused %v", seen.Pending, refused)
			}
		})
	}
}

// checkInstances checks that all requests were sent with the tokens of that many instances.
func checkInstances(t *testing.T, seen *runlog.Trace, want int) {
	t.Helper()
	instances := map[int]bool{}
	for _, r := range seen.Requests {
		instances[r.Instance] = true
	}
	if len(instances) != want || instances[0] {
		t.Errorf("requests came of instances %v, want %d", instances, want)
	}
}
