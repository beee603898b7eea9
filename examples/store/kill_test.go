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
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable/artifactstore"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/local/localtest"

	storev1 "github.com/operon-framework/operon/examples/store/api/v1alpha1"
)

// Settings of the operator that is killed.
const (
	killKubeconfig = "STORE_TEST_KUBECONFIG"
	killNamespace  = "STORE_TEST_NAMESPACE"
	killBackups    = "STORE_TEST_BACKUPS"
	killAddress    = "STORE_TEST_ADDRESS"
	killFiles      = "STORE_TEST_FILES" // directory of the files for the test
	killFrom       = "STORE_TEST_FROM"  // the first point at which it stops
)

// atOnce is the number of Actions that an operator runs concurrently.
const atOnce = 8

// mortal is an operator whose work on a Store stops at the point whose number is at the end of the names of the Store and its
// Action. There is a point before and after each write to the Action, and before and after each command to the server.
// Therefore one SIGKILL interrupts several Actions, each at a different point.
type mortal struct {
	files string
	from  int

	mu     sync.Mutex
	passed map[int]int
}

// point counts a point of the work on the named Action or Store, and stops the work if the point is its own.
func (m *mortal) point(name string) {
	_, number, _ := strings.Cut(name, "-")
	work, err := strconv.Atoi(number)
	if err != nil || work < m.from {
		return
	}
	m.mu.Lock()
	m.passed[work]++
	here := m.passed[work] >= work // includes the effects of timeouts of requests that have stopped at their points
	m.mu.Unlock()
	if !here {
		return
	}
	if err := os.WriteFile(reached(m.files, work), nil, 0o600); err != nil {
		panic(err) // the test waits for that file and reports its absence
	}
	select {} // until it is killed
}

// reached returns the file that shows that the work with a number is at its point.
func reached(files string, work int) string { return filepath.Join(files, strconv.Itoa(work)) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// writes adds a point before and after each write to an Action.
func (m *mortal) writes(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		_, path, ofAction := strings.Cut(r.URL.Path, "/actions/")
		name, _, _ := strings.Cut(path, "/")
		if !ofAction || r.Method != http.MethodPatch {
			return next.RoundTrip(r)
		}
		m.point(name)
		answer, err := next.RoundTrip(r)
		m.point(name)
		return answer, err
	})
}

// commands forwards connections to a server, and adds a point before and after each command to the room of a Store.
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
	store := ""
	for {
		line, err := asked.ReadString('\n')
		if err != nil {
			return
		}
		m.point(store)
		if _, err := io.WriteString(to, line); err != nil {
			return
		}
		answer, err := answered.ReadString('\n')
		if err != nil {
			return
		}
		m.point(store)
		if _, err := io.WriteString(from, answer); err != nil {
			return
		}
		if room, ok := strings.CutPrefix(line, "use "); ok {
			store = filepath.Base(strings.TrimSpace(room))
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
	m := &mortal{files: os.Getenv(killFiles), passed: map[int]int{}}
	if m.from, err = strconv.Atoi(os.Getenv(killFrom)); err != nil {
		t.Fatal(err)
	}
	cluster.Wrap(m.writes)
	if err := runOperator(t.Context(), cluster, os.Getenv(killNamespace), os.Getenv(killBackups), m.commands(t, os.Getenv(killAddress))); err != nil {
		t.Fatal(err)
	}
}

// Regardless of the point at which the operator is killed in an action, at every step boundary and inside every step, the next
// operator reaches the same result: a backup is one complete file, and the Store continues to work. After a restore, it
// contains exactly the values in the backup.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for action, test := range map[string]struct {
		from   string
		filled map[string]string // the initial values of the Store
		most   int               // the minimum number of points; the last one may be reached after the end is visible
		check  func(*killing, work)
	}{
		"backup":  {filled: goods, most: 18, check: (*killing).whole},
		"restore": {from: "first", filled: map[string]string{"apple": "none left", "late": "to be gone"}, most: 13, check: (*killing).restored},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			address, _ := serveAt(t, "127.0.0.1:0")
			first := s.open("first")
			fill(t, s.speaking(address, first), goods)
			stop := s.run(address)
			s.over(s.act(first, "first", "backup", ""), journal.Succeeded)
			stop()
			k := &killing{shop: s, address: address, action: action, from: test.from, filled: test.filled, files: t.TempDir()}
			all := k.everywhere(func(w work) { test.check(k, w) })
			killed := k.killed(all)
			t.Logf("killed at %d points", killed)
			if killed < test.most {
				t.Errorf("the operator was killed at %d points, want %d at least", killed, test.most)
			}
			if action == "backup" {
				files, err := filepath.Glob(filepath.Join(s.backups, "*"))
				if err != nil || len(files) != len(all)+1 {
					t.Errorf("%d backups left %d files: %q", len(all)+1, len(files), files)
				}
			}
		})
	}
}

// killing kills operators, each while it works on several Stores, each at a different point.
type killing struct {
	*shop
	address, action, from, files string
	filled                       map[string]string
}

// work is an Action on a separate Store, in which the operator is killed at the point with its number.
type work struct {
	number int
	store  *storev1.Store
	action *v1alpha1.Action
	server *client
}

// everywhere kills one operator after the other. Each completes the work that the previous one left. It ends when an operator
// reaches fewer points than it has Actions.
func (k *killing) everywhere(check func(work)) (all []work) {
	k.Helper()
	var left []work
	for k.killed(all) == len(all) {
		kill := k.mortal(len(all) + 1)
		k.end(left, check)
		left = nil
		for range atOnce {
			left = append(left, k.begin(len(all)+len(left)+1))
		}
		k.halt(left)
		kill()
		all = append(all, left...)
	}
	k.run(k.address)
	k.end(left, check)
	return all
}

// begin creates an Action on a new Store.
func (k *killing) begin(number int) work {
	k.Helper()
	w := work{number: number, store: k.open(fmt.Sprintf("store-%d", number))}
	w.server = k.speaking(k.address, w.store)
	fill(k.T, w.server, k.filled)
	w.action = k.act(w.store, fmt.Sprintf("%s-%d", k.action, number), k.action, k.from)
	return w
}

// halt waits until each Action has ended or is at its point.
func (k *killing) halt(all []work) {
	k.Helper()
	for _, w := range all {
		localtest.Eventually(k.T, w.action.Name+" to be over, or at its point", func(ctx context.Context) error {
			if k.killed([]work{w}) == 1 {
				return nil
			}
			if err := k.api.Get(ctx, keyOf(w.action), w.action); err != nil {
				return err
			}
			if j := w.action.Status.Journal; j == nil || j.Phase != journal.Succeeded || len(w.action.Finalizers) > 0 {
				return fmt.Errorf("it is %+v", j)
			}
			return nil
		})
	}
}

// end waits until all work has ended, and checks it.
func (k *killing) end(all []work, check func(work)) {
	k.Helper()
	for _, w := range all {
		k.over(w.action, journal.Succeeded)
		check(w)
	}
}

// killed returns how many of the Actions were at their points.
func (k *killing) killed(all []work) (count int) {
	for _, w := range all {
		if _, err := os.Stat(reached(k.files, w.number)); err == nil {
			count++
		}
	}
	return count
}

// restored checks that a Store contains the values of the backup.
func (k *killing) restored(w work) {
	k.Helper()
	k.must(holds(w.server, goods))
}

// whole checks one backup, and that the Store continues to work.
func (k *killing) whole(w work) {
	k.Helper()
	localtest.Eventually(k.T, w.action.Name+" to be let go", func(ctx context.Context) error {
		err := k.api.Get(ctx, keyOf(w.action), w.action)
		if err == nil && len(w.action.Finalizers) > 0 {
			err = fmt.Errorf("it has the finalizers %q", w.action.Finalizers)
		}
		return err
	})
	fill(k.T, w.server, map[string]string{"late": "it goes on"})
	j := w.action.Status.Journal
	values, err := Store{Backups: artifactstore.Directory(k.backups)}.read(k.Context(), Dump{File: j.Artifacts[artifactFile], Sum: j.Artifacts[artifactSum]})
	if err != nil || !maps.Equal(values, goods) {
		k.Errorf("%s holds %q (%v)", w.action.Name, values, err)
	}
	for _, step := range j.Steps {
		if step.Attempts > 2 {
			k.Errorf("the step %s of %s was begun %d times", step.Name, w.action.Name, step.Attempts)
		}
	}
}

// mortal starts an operator that stops at points from a number on, and returns a function that kills it.
func (k *killing) mortal(from int) (kill func()) {
	k.Helper()
	command := exec.CommandContext(k.Context(), os.Args[0], "-test.run=^TestAsMortal$")
	command.Env = append(os.Environ(), killKubeconfig+"="+k.Kubeconfig, killNamespace+"="+k.Namespace, killBackups+"="+k.backups,
		killAddress+"="+k.address, killFiles+"="+k.files, killFrom+"="+strconv.Itoa(from))
	k.must(command.Start())
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill() // it may already have ended
		_ = command.Wait()         // it was killed
	})
	k.Cleanup(kill)
	return kill
}
