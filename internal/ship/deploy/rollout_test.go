package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/generate/manifests"
	"github.com/operon-framework/operon/internal/tools/up"
)

// A pod that is not ready is reported only after a while. A pod that waits for an unusual reason is reported immediately.
// Each is reported once.
func TestTroubleIsToldWhenItIsNotUsual(t *testing.T) {
	t.Parallel()
	starting := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	strange := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "Strange"}}}
	for name, test := range map[string]struct {
		status       corev1.ContainerStatus
		first, later int
	}{
		"starting": {starting, 0, 1},
		"strange":  {strange, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			r := &rollout{target: Target{Progress: &said}}
			look := func() int {
				pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{test.status}}}
				if err := r.judge(t.Context(), &appsv1.Deployment{}, []corev1.Pod{pod}); err != nil {
					t.Error(err)
				}
				return bytes.Count(said.Bytes(), []byte("\n"))
			}
			if got := look(); got != test.first {
				t.Errorf("%s: at first %d lines were said\n%s", name, got, &said)
			}
			for range 3 {
				time.Sleep(timing.grace) // takes no time in a synctest bubble
				if got := look(); got != test.later {
					t.Errorf("%s: later %d lines were said\n%s", name, got, &said)
				}
			}
		})
	}
}

// An image that cannot be pulled is reported as soon as it is known that another attempt fails as well, or after the second one.
func TestAnImageIsPulledTwice(t *testing.T) {
	t.Parallel()
	for message, final := range map[string]bool{"not found": true, "503 Service Unavailable": false} {
		synctest.Test(t, func(t *testing.T) {
			status := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: message}}}
			r := &rollout{}
			judge := func() error {
				return r.judge(t.Context(), &appsv1.Deployment{}, []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}})
			}
			if err := judge(); err != nil {
				t.Errorf("%s: at first it is final: %v", message, err)
			}
			time.Sleep(timing.grace) // takes no time in a synctest bubble
			if err := judge(); (err != nil) != final {
				t.Errorf("%s: after the first attempt, the error is %v", message, err)
			}
			time.Sleep(timing.secondTry - timing.grace)
			if err := judge(); err == nil {
				t.Errorf("%s: after the second attempt there is no error", message)
			}
		})
	}
}

// A container counts only after it has run for a while if it was restarted or has no readiness probe, and a container that is
// not running never counts.
func TestContainersHaveToStay(t *testing.T) {
	t.Parallel()
	running := func(id, name string, restarts int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{ContainerID: id, Name: name, RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	}
	ended := corev1.ContainerStatus{ContainerID: "a", Name: "probed", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "probed", ReadinessProbe: &corev1.Probe{}}, {Name: "unprobed"}}}
	pods := func(status corev1.ContainerStatus) []corev1.Pod {
		return []corev1.Pod{{Spec: spec, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running("other", "probed", 0), status}}}}
	}
	synctest.Test(t, func(t *testing.T) {
		r := &rollout{}
		if !r.stays(pods(running("a", "probed", 0))) {
			t.Error("a container that never ended is not trusted")
		}
		if r.stays(pods(ended)) {
			t.Error("a container that ended is trusted")
		}
		if r.stays(pods(running("b", "probed", 1))) {
			t.Error("a container that has just restarted is trusted")
		}
		if r.stays(pods(running("d", "unprobed", 0))) {
			t.Error("a container without a readiness probe is trusted as soon as it has started")
		}
		time.Sleep(timing.unproven) // takes no time in a synctest bubble
		if r.stays(pods(running("c", "probed", 2))) {
			t.Error("a container that restarts again and again is trusted")
		}
		if !r.stays(pods(running("b", "probed", 1))) {
			t.Error("a container that has run for a while is not trusted")
		}
		if !r.stays(pods(running("d", "unprobed", 0))) {
			t.Error("a container without a readiness probe that has run for a while is not trusted")
		}
	})
}

// A pod that was evicted remains, and says nothing about the pod in its place.
func TestPodsThatHaveEnded(t *testing.T) {
	t.Parallel()
	for phase, want := range map[corev1.PodPhase]bool{corev1.PodFailed: true, corev1.PodSucceeded: true, corev1.PodRunning: false, corev1.PodPending: false} {
		if got := hasEnded(corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%s: ended %t", phase, got)
		}
	}
}

// If a container has ended again since it was checked, its log is no longer the log of the previous container.
func TestLogsOfWhatEndedAgain(t *testing.T) {
	t.Parallel()
	const (
		removed  = "unable to retrieve container logs for containerd://a"
		unlinked = `failed to try resolving symlinks in path "/logs/1.log": lstat /logs/1.log: no such file or directory`
		ends     = "its log ends with\n  there is no database"
	)
	for name, test := range map[string]struct {
		previous, current []string
		want              string
	}{
		"not ended again":   {[]string{"there is no database"}, []string{"another"}, ends},
		"ended again":       {[]string{removed}, []string{"there is no database"}, ends},
		"ends just now":     {[]string{unlinked}, []string{"there is no database"}, ends},
		"runs, ended again": {[]string{removed, "there is no database"}, []string{""}, ends},
		"nothing is kept":   {[]string{removed}, []string{removed}, "its log cannot be read: " + removed},
	} {
		synctest.Test(t, func(t *testing.T) {
			kubelet := roundTripper(func(request *http.Request) (*http.Response, error) {
				logs := &test.current
				if request.URL.Query().Get("previous") == "true" {
					logs = &test.previous
				}
				text := (*logs)[0]
				*logs = (*logs)[min(1, len(*logs)-1):]
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}, nil
			})
			r := &rollout{namespace: "n", cluster: &cluster{typed: kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://x", Transport: kubelet})}}
			if got := (trouble{text: "it ends", pod: "p", previous: true}).tell(t.Context(), r); got != "it ends; "+test.want {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Webhooks are checked in the namespaces in which the operator works, because API servers do not call them for other
// namespaces.
func TestWhereWebhooksAreAsked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		watch        []string
		sample, want string
	}{
		{nil, "", "default"},
		{nil, "a", "a"},
		{[]string{"b", "a"}, "", "b"},
		{[]string{"b", "a"}, "a", "a"},
		{[]string{"b", "a"}, "c", "b"},
	} {
		d := &deployer{operator: manifests.Operator{Watch: test.watch}}
		if got := d.asked(test.sample); got != test.want {
			t.Errorf("%+v: asked in %q", test, got)
		}
	}
}

// `operon logs` is about deployed operators. Its error for an operator that only `operon up` ran names the log of that one.
func TestLogsNameTheLogOfUp(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("OPERON_HOME", home)
	if err := notDeployed("web", "web-system", "cluster", up.LogOf(dir)); !strings.HasSuffix(err.Error(), "or name its --namespace") {
		t.Errorf("without a log of up: %v", err)
	}
	sum := sha256.Sum256([]byte(dir))
	log := filepath.Join(home, "up", hex.EncodeToString(sum[:])[:12], "operator.log")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o700), os.WriteFile(log, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := notDeployed("web", "web-system", "cluster", up.LogOf(dir)); !strings.HasSuffix(err.Error(), "the log of the operator that `operon up` ran is "+log) {
		t.Errorf("with a log of up: %v", err)
	}
}
