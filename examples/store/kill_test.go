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

// Wherever the operator is killed in a backup, at every step boundary and inside every step, the next
// one brings it to the same end: one file, whole, and a Store that goes on.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	address, _ := serveAt(t, "127.0.0.1:0")
	s.open()
	c := speaking(t, address)
	fill(t, c, goods)
	var done []*v1alpha1.Action
	killed := 0
	for alive := false; !alive; {
		name := fmt.Sprintf("backup-%d", len(done)+1)
		died := s.mortal(address, name, len(done)+1)
		if len(done) > 0 {
			s.over(done[len(done)-1], journal.Succeeded)
		}
		a := s.act(name, "backup", "")
		done = append(done, a)
		if alive = s.survives(a, died); !alive {
			killed++
		}
	}
	t.Logf("killed at %d points", killed)
	if killed < 18 {
		t.Errorf("the operator was killed at %d points, want 18 at least", killed)
	}
	for _, a := range done {
		s.whole(a)
	}
	files, err := filepath.Glob(filepath.Join(s.backups, "*"))
	if err != nil || len(files) != len(done) {
		t.Errorf("%d backups left %d files: %q", len(done), len(files), files)
	}
	fill(t, c, map[string]string{"late": "it goes on"})
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

// whole checks one backup.
func (s *shop) whole(a *v1alpha1.Action) {
	s.Helper()
	s.must(s.api.Get(s.Context(), keyOf(a), a))
	j := a.Status.Journal
	values, err := Store{Backups: s.backups}.read(Dump{File: j.Artifacts[artifactFile], Sum: j.Artifacts[artifactSum]})
	if err != nil || !maps.Equal(values, goods) || len(a.Finalizers) > 0 {
		s.Errorf("%s holds %q (%v), with the finalizers %q", a.Name, values, err, a.Finalizers)
	}
	for _, step := range j.Steps {
		if step.Attempts > 2 {
			s.Errorf("the step %s of %s was begun %d times", step.Name, a.Name, step.Attempts)
		}
	}
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
