package deploy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/internal/ship/deploy"
	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// nodes is a proxy for the API server that returns logs, because simulated nodes have none: two lines, and more as long as
// they are followed. Its clock is years behind.
type nodes struct {
	where up.Where
	mu    sync.Mutex
	// written are the lines with their dates, more are the lines that follow, by pod, and asked are the queries of the requests.
	written map[string][]string
	more    map[string]chan string
	asked   []url.Values
	// denying reports that pods can no longer be listed.
	denying atomic.Bool
}

func newNodes(t *testing.T, f *fixture) *nodes {
	t.Helper()
	n := &nodes{written: map[string][]string{}, more: map[string]chan string{}}
	n.where = f.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		if pod, is := strings.CutSuffix(r.URL.Path, "/log"); is {
			n.log(w, r, filepath.Base(pod))
			return true
		}
		if n.denying.Load() && strings.HasSuffix(r.URL.Path, "/pods") {
			http.Error(w, "no longer", http.StatusForbidden)
			return true
		}
		return false
	})
	return n
}

// behind returns the cluster behind a proxy that may answer requests instead of its API server.
func (f *fixture) behind(t *testing.T, answers func(http.ResponseWriter, *http.Request) bool) up.Where {
	t.Helper()
	target, err := url.Parse(f.env.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(f.env.Config)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	where := up.Where{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := clientcmd.WriteToFile(*config, where.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return where
}

func (n *nodes) log(w http.ResponseWriter, r *http.Request, pod string) {
	query := r.URL.Query()
	n.mu.Lock()
	n.asked = append(n.asked, query)
	if n.written[pod] == nil {
		n.written[pod] = []string{at(0) + " one of " + pod, at(1) + " two of " + pod}
	}
	written := n.written[pod]
	n.mu.Unlock()
	send := func(line string) {
		if query.Get("timestamps") != "true" {
			_, line, _ = strings.Cut(line, " ")
		}
		fmt.Fprintln(w, line)
		w.(http.Flusher).Flush()
	}
	for _, line := range written {
		if since := query.Get("sinceTime"); strings.TrimSuffix(since, "Z") <= line {
			send(line)
		}
	}
	if query.Get("follow") != "true" {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case line, open := <-n.lines(pod):
			if !open {
				return
			}
			send(n.write(pod, 2, line))
		}
	}
}

// at returns a date, the given number of milliseconds after the first date.
func at(milliseconds int) string {
	return time.UnixMilli(int64(1_000_000_000_000 + milliseconds)).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// write writes a line to a log, whether a client follows it or not.
func (n *nodes) write(pod string, milliseconds int, text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	line := at(milliseconds) + " " + text
	n.written[pod] = append(n.written[pod], line)
	return line
}

func (n *nodes) lines(pod string) chan string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.more[pod] == nil {
		n.more[pod] = make(chan string)
	}
	return n.more[pod]
}

// readOn reports whether a log was requested from a start time.
func (n *nodes) readOn() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.asked, func(query url.Values) bool { return query.Get("sinceTime") != "" })
}

// podsOf returns the names of the operator's pods.
func podsOf(t *testing.T, f *fixture) []string {
	t.Helper()
	list, err := f.client.CoreV1().Pods(f.namespace()).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + f.name})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

func (f *fixture) leads(t *testing.T, pod string) {
	t.Helper()
	holder := pod + "_0a1b"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: f.name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	if _, err := f.client.CoordinationV1().Leases(f.namespace()).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The logs of all replicas are printed, each line after its pod, and the name of the leader has a star.
func TestLogs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	pods := podsOf(t, f)
	f.leads(t, pods[1])
	operator := f.inject(t, pods[0])
	n, out := newNodes(t, f), &output{}
	options := deploy.LogsOptions{Target: f.target(&output{}), Out: out, Tail: new(int64(7)), Previous: true}
	options.Where = n.where
	if err := deploy.Logs(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	short := func(pod string) string { return strings.TrimPrefix(pod, f.name+"-") }
	if missing := lacks(out.String(), short(pods[0])+"  | one of "+pods[0]+"\n", short(pods[1])+"* | two of "+pods[1]+"\n"); missing != nil {
		t.Error(missing)
	}
	for _, query := range n.asked {
		if query.Get("tailLines") != "7" || query.Get("previous") != "true" || query.Get("container") != operator {
			t.Errorf("asked for %v", query)
		}
	}
	if len(n.asked) != 3 {
		t.Errorf("asked for %d logs, want those of two replicas and of a pod with one container more", len(n.asked))
	}
	f.logsOfAContainer(t, n, pods[0])
}

// logsOfAContainer reads recent lines of another container, with their times: first the existing lines, then the following
// ones.
func (f *fixture) logsOfAContainer(t *testing.T, n *nodes, pod string) {
	t.Helper()
	for _, follow := range []bool{false, true} {
		out, before := &output{}, len(n.asked)
		options := deploy.LogsOptions{Target: f.target(&output{}), Out: out, Follow: follow, Since: 90 * time.Second, Container: "injected", Timestamps: true}
		options.Where = n.where
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- deploy.Logs(ctx, options) }()
		f.says(t, out, " | "+at(0)+" one of "+pod+"\n", " | "+at(1)+" two of "+pod+"\n")
		if follow {
			n.lines(pod) <- "later"
			f.says(t, out, " | "+at(2)+" later\n")
			stop()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		stop()
		n.mu.Lock()
		for _, query := range n.asked[before:] {
			since, err := strconv.Atoi(query.Get("sinceSeconds"))
			if err != nil || since < 90 || since > 150 || query.Get("container") != "injected" || query.Get("timestamps") != "true" {
				t.Errorf("asked for %v", query)
			}
		}
		n.mu.Unlock()
	}
}

// inject creates a pod of the operator whose first container is another client's, and returns the name of the operator's
// container.
func (f *fixture) inject(t *testing.T, like string) string {
	t.Helper()
	pods := f.client.CoreV1().Pods(f.namespace())
	pod, err := pods.Get(t.Context(), like, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	operator := pod.Spec.Containers[0]
	injected := operator
	injected.Name, injected.Ports = "injected", nil
	labels := pod.Labels
	delete(labels, "pod-template-hash") // otherwise the ReplicaSet would adopt the pod
	pod.ObjectMeta = metav1.ObjectMeta{Name: f.name + "-injected", Labels: labels}
	pod.Spec.NodeName, pod.Spec.Containers = "", []corev1.Container{injected, operator}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return operator.Name
}

// Follow also prints later lines, including those of new pods, and resumes a log after a broken connection.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	n, out := newNodes(t, f), &output{}
	options := deploy.LogsOptions{Target: f.target(&output{}), Out: out, Follow: true}
	options.Where = n.where
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- deploy.Logs(ctx, options) }()
	first := podsOf(t, f)[0]
	n.lines(first) <- "later"
	f.says(t, out, "two of "+first, "later")
	close(n.lines(podsOf(t, f)[1])) // the connection ends, but not the container
	wait(t, "another connection", func() bool { return n.readOn() })
	n.readsOn(t, f, out, podsOf(t, f)[1])
	if err := f.client.CoreV1().Pods(f.namespace()).Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var fresh string
	wait(t, "another pod", func() bool {
		for _, pod := range podsOf(t, f) {
			if !strings.Contains(out.String(), "one of "+pod) && pod != first {
				fresh = pod
			}
		}
		return fresh != "" || strings.Count(out.String(), "one of ") > 2
	})
	f.says(t, out, "one of "+fresh)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// readsOn writes lines while the connection for a log breaks again and again: each line is shown once.
func (n *nodes) readsOn(t *testing.T, f *fixture, out *output, pod string) {
	t.Helper()
	long := "long" + strings.Repeat(".", 600<<10) + "end"
	n.write(pod, 3, "missed")
	n.write(pod, 4, "the same")
	n.write(pod, 4, "the same")
	n.write(pod, 5, long)
	n.write(pod, 1006, "one second later")
	n.write(pod, 1007, "the last")
	f.says(t, out, "the last")
	n.mu.Lock()
	before := len(n.asked)
	n.mu.Unlock()
	wait(t, "more connections", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.asked) > before+1
	})
	for what, times := range map[string]int{"one of " + pod: 1, "two of " + pod: 1, "missed": 1, "the same": 2, "long": 1, ".end": 1, "one second later": 1, "the last": 1} {
		if got := strings.Count(out.String(), what); got != times {
			t.Errorf("%q is shown %d times, want %d", what, got, times)
		}
	}
}

// If the user may no longer list pods, this is reported although a log continues.
func TestFollowedLogsEndWithAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	n, out := newNodes(t, f), &output{}
	options := deploy.LogsOptions{Target: f.target(&output{}), Out: out, Follow: true}
	options.Where = n.where
	ended := make(chan error, 1)
	go func() { ended <- deploy.Logs(t.Context(), options) }()
	f.says(t, out, "two of "+podsOf(t, f)[0])
	n.denying.Store(true)
	select {
	case err := <-ended:
		if missing := refuses(err, "no longer"); missing != nil {
			t.Error(missing)
		}
	case <-time.After(timeout):
		t.Error("it goes on")
	}
}

// The error of a node about a log that cannot be read is passed on.
func TestNoLogs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	options := deploy.LogsOptions{Target: f.target(&output{}), Out: &output{}}
	if missing := refuses(deploy.Logs(t.Context(), options), "the operator "+f.name+" is not deployed in namespace "+f.namespace()); missing != nil {
		t.Error(missing)
	}
	f.mustDeploy(t, nil)
	if missing := refuses(deploy.Logs(t.Context(), options), "cannot be read", "simulated"); missing != nil {
		t.Error(missing)
	}
}

// After a restart all pods are new, and the deployed objects are unchanged.
func TestRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mustDeploy(t, nil)
	before := podsOf(t, f)
	if err := deploy.Restart(t.Context(), f.target(&output{})); err != nil {
		t.Fatal(err)
	}
	after := podsOf(t, f)
	for _, pod := range before {
		for _, one := range after {
			if pod == one {
				t.Errorf("pod %s is still there", pod)
			}
		}
	}
	if again := f.mustDeploy(t, nil); len(again.Changed) > 0 {
		t.Errorf("changed %q", again.Changed)
	}
	deployment, err := f.client.AppsV1().Deployments(f.namespace()).Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil || deployment.Status.ReadyReplicas != 2 {
		t.Errorf("%v, %v", deployment.Status, err)
	}
}

// says waits until a log contains lines.
func (f *fixture) says(t *testing.T, out *output, lines ...string) {
	t.Helper()
	for _, line := range lines {
		wait(t, "the line "+line, func() bool { return strings.Contains(out.String(), line) })
	}
}

func wait(t *testing.T, what string, check func() bool) {
	t.Helper()
	localtest.Eventually(t, what, func(context.Context) error {
		if !check() {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}
