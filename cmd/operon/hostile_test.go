package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// hostile is a text that changes the color, and then clears the screen, sets the title of the window, rings the bell, overwrites the line, and clears
// the screen with a character of one byte. painted is what is printed of it, and cleaned is what is printed of it in an error.
const (
	hostile = "\x1b[31mred\x1b[0m\x1b[2J\x1b]0;title\x07bad\rgood\u009b2J"
	painted = "\x1b[31mred\x1b[0m�[2J�]0;title�bad�good�2J"
	cleaned = "�[31mred�[0m�[2J�]0;title�bad�good�2J"
)

// A cluster cannot control the terminal, whether its text is a result, a warning or an error.
func TestTextOfAClusterIsCleaned(t *testing.T) {
	t.Parallel()
	got := operon(t, "logs", "--follow", "../../examples/memcached", "--kubeconfig", hostileCluster(t))
	if want := "talking  | " + painted + "\n"; got.stdout != want {
		t.Errorf("standard output is %q, want %q", got.stdout, want)
	}
	if want := "the log of pod silent cannot be read: no log: " + painted + "\noperon: no pods: " + cleaned + "\n"; got.stderr != want || got.code != exitFailed {
		t.Errorf("exit %d, standard error is %q, want %q", got.code, got.stderr, want)
	}
}

// The line on a terminal that shows the current step has no control characters of the step.
func TestProgressIsCleaned(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	shown := &progress{out: file}
	shown.count(1, 1, hostile)
	shown.done()
	got, err := os.ReadFile(file.Name())
	if want := "\r\x1b[2K  1 of 1, " + cleaned + "\r\x1b[2K"; err != nil || string(got) != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}

// hostileCluster returns the kubeconfig of an API server with an operator that has two pods: one has a log of one line, and the log of the other cannot
// be read. After the second attempt, the pods cannot be listed either.
func hostileCluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	var attempts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/version":
			answer(w, http.StatusOK, map[string]string{"gitVersion": "v1.2.3"})
		case strings.Contains(path, "/deployments/"):
			answer(w, http.StatusOK, hostileDeployment())
		case strings.HasSuffix(path, "/leases"):
			answer(w, http.StatusOK, coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{Kind: "LeaseList", APIVersion: "coordination.k8s.io/v1"}})
		case strings.HasSuffix(path, "/pods/talking/log"):
			_, _ = io.WriteString(w, hostile+"\n")
		case strings.HasSuffix(path, "/pods/silent/log"):
			attempts.Add(1)
			refuse(w, "no log: "+hostile)
		case strings.HasSuffix(path, "/pods") && attempts.Load() < 2:
			answer(w, http.StatusOK, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Name: "silent", UID: types.UID("1")}}, {ObjectMeta: metav1.ObjectMeta{Name: "talking", UID: types.UID("2")}},
			}})
		default:
			refuse(w, "no pods: "+hostile)
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func hostileDeployment() *appsv1.Deployment {
	deployment := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "operator"}}
	return deployment
}

// refuse answers a request with an error of the API server.
func refuse(w http.ResponseWriter, message string) {
	answer(w, http.StatusForbidden, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden,
		Code: http.StatusForbidden, Message: message,
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone needs no answer
}
