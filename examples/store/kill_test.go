package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/bucket"
	"github.com/operon-framework/operon/journal"
	"github.com/operon-framework/operon/local/localtest"
)

// Settings of the operator that is killed.
const (
	killKubeconfig = "STORE_TEST_KUBECONFIG"
	killNamespace  = "STORE_TEST_NAMESPACE"
	killBackups    = "STORE_TEST_BACKUPS"
	killAddress    = "STORE_TEST_ADDRESS"
	killAction     = "STORE_TEST_ACTION" // in the work on which it dies
	killPoint      = "STORE_TEST_POINT"  // at which of the points that it passes
)

// mortal is a process that kills itself at a point of the work on one Action: before and after each
// write to it, and before and after each command to the server from the first of these on.
type mortal struct {
	action string
	at     int

	mu     sync.Mutex
	passed int
}

func (m *mortal) point(begins bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !begins && m.passed == 0 {
		return // of another Action
	}
	if m.passed++; m.passed == m.at {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {} // until it strikes
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// writes passes a point before and after each write to the Action.
func (m *mortal) writes(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		_, path, ofAction := strings.Cut(r.URL.Path, "/actions/")
		name, _, _ := strings.Cut(path, "/")
		if !ofAction || name != m.action || r.Method != http.MethodPatch {
			return next.RoundTrip(r)
		}
		m.point(true)
		answer, err := next.RoundTrip(r)
		m.point(true)
		return answer, err
	})
}

// commands forwards to a server, and passes a point before and after each command.
func (m *mortal) commands(t *testing.T, server string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go m.forward(conn, server)
		}
	}()
	return listener.Addr().String()
}

func (m *mortal) forward(from net.Conn, server string) {
	defer from.Close()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer to.Close()
	asked, answered := bufio.NewReader(from), bufio.NewReader(to)
	for {
		line, err := asked.ReadString('\n')
		if err != nil {
			return
		}
		m.point(false)
		if _, err := io.WriteString(to, line); err != nil {
			return
		}
		answer, err := answered.ReadString('\n')
		if err != nil {
			return
		}
		m.point(false)
		if _, err := io.WriteString(from, answer); err != nil {
			return
		}
	}
}

// TestAsMortal is the operator that TestKilledAnywhere kills.
func TestAsMortal(t *testing.T) {
	t.Parallel()
	if os.Getenv(killKubeconfig) == "" {
		t.Skip("it is the operator of TestKilledAnywhere")
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", os.Getenv(killKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{action: os.Getenv(killAction)}
	if m.at, err = strconv.Atoi(os.Getenv(killPoint)); err != nil {
		t.Fatal(err)
	}
	cluster.Wrap(m.writes)
	if err := runOperator(t.Context(), cluster, os.Getenv(killNamespace), os.Getenv(killBackups), m.commands(t, os.Getenv(killAddress))); err != nil {
		t.Fatal(err)
	}
}

// Wherever the operator is killed in an action, at every step boundary and inside every step, the next
// one brings it to the same end: a backup is one file, whole, and the Store goes on; after a restore, it
// holds what was backed up and nothing else.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for action, test := range map[string]struct {
		from  string
		most  int // points that there are at least; the last may come after the end is seen
		check func(*shop, *v1alpha1.Action, *client)
	}{
		"backup":  {most: 18, check: (*shop).whole},
		"restore": {from: "first", most: 13, check: (*shop).restored},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			address, _ := serveAt(t, "127.0.0.1:0")
			s.open()
			c := speaking(t, address)
			fill(t, c, goods)
			stop := s.run(address)
			s.over(s.act("first", "backup", ""), journal.Succeeded)
			stop()
			killed := s.killEverywhere(address, action, test.from, func(a *v1alpha1.Action) { test.check(s, a, c) })
			t.Logf("killed at %d points", killed)
			if killed < test.most {
				t.Errorf("the operator was killed at %d points, want %d at least", killed, test.most)
			}
			if action == "backup" {
				files, err := filepath.Glob(filepath.Join(s.backups, "*"))
				if err != nil || len(files) != killed+2 {
					t.Errorf("%d backups left %d files: %q", killed+2, len(files), files)
				}
			}
		})
	}
}

// killEverywhere kills the operator at one point after the other, each time in the work on a new Action,
// after it has brought the one before to its end, which is checked.
func (s *shop) killEverywhere(address, action, from string, check func(*v1alpha1.Action)) (killed int) {
	s.Helper()
	var last *v1alpha1.Action
	for {
		name := fmt.Sprintf("%s-%d", action, killed+1)
		died := s.mortal(address, name, killed+1)
		if last != nil {
			s.over(last, journal.Succeeded)
			check(last)
		}
		last = s.act(name, action, from)
		if s.survives(last, died) {
			check(last)
			return killed
		}
		killed++
	}
}

// survives tells whether an Action is over before the process dies.
func (s *shop) survives(a *v1alpha1.Action, died <-chan struct{}) (alive bool) {
	s.Helper()
	localtest.Eventually(s.T, a.Name+" to be over, or the operator to be killed", func(ctx context.Context) error {
		select {
		case <-died:
			return nil
		default:
		}
		if err := s.api.Get(ctx, keyOf(a), a); err != nil {
			return err
		}
		if j := a.Status.Journal; j == nil || j.Phase != journal.Succeeded || len(a.Finalizers) > 0 {
			return fmt.Errorf("it is %+v", j)
		}
		alive = true
		return nil
	})
	return alive
}

// restored checks that the Store is as it was backed up, and spoils it.
func (s *shop) restored(_ *v1alpha1.Action, c *client) {
	s.Helper()
	s.must(holds(c, goods))
	fill(s.T, c, map[string]string{"apple": "none left", "late": "to be gone"})
}

// whole checks one backup, and that the Store goes on.
func (s *shop) whole(a *v1alpha1.Action, c *client) {
	s.Helper()
	fill(s.T, c, map[string]string{"late": "it goes on"})
	s.must(s.api.Get(s.Context(), keyOf(a), a))
	j := a.Status.Journal
	values, err := Store{Backups: bucket.Folder(s.backups)}.read(s.Context(), Dump{File: j.Artifacts[artifactFile], Sum: j.Artifacts[artifactSum]})
	if err != nil || !hasAll(values, goods) || len(a.Finalizers) > 0 {
		s.Errorf("%s holds %q (%v), with the finalizers %q", a.Name, values, err, a.Finalizers)
	}
	for _, step := range j.Steps {
		if step.Attempts > 2 {
			s.Errorf("the step %s of %s was begun %d times", step.Name, a.Name, step.Attempts)
		}
	}
}

// hasAll tells whether values are those that are wanted, beside one that each check adds.
func hasAll(values, want map[string]string) bool {
	values = maps.Clone(values)
	delete(values, "late")
	return maps.Equal(values, want)
}

// mortal starts an operator that is to die at a point of the work on an Action.
func (s *shop) mortal(address, action string, at int) (died <-chan struct{}) {
	s.Helper()
	command := exec.CommandContext(s.Context(), os.Args[0], "-test.run=^TestAsMortal$")
	command.Env = append(os.Environ(), killKubeconfig+"="+s.Kubeconfig, killNamespace+"="+s.Namespace, killBackups+"="+s.backups,
		killAddress+"="+address, killAction+"="+action, killPoint+"="+strconv.Itoa(at))
	s.must(command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is killed
	}()
	s.Cleanup(func() {
		_ = command.Process.Kill() // it may be dead
		<-ended
	})
	return ended
}
