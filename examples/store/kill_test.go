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
	killFiles      = "STORE_TEST_FILES" // folder of what it tells the test
	killFrom       = "STORE_TEST_FROM"  // the first point at which it comes to a halt
)

// atOnce is how many Actions an operator works on at the same time.
const atOnce = 8

// mortal is an operator whose work on a Store comes to a halt at the point that the Store's name ends in,
// and that of its Action: before and after each write to the Action, and before and after each command to
// the server. So one SIGKILL meets several Actions, each at another point.
type mortal struct {
	files string
	from  int

	mu     sync.Mutex
	passed map[int]int
}

// point is passed by the work whose Action's or Store's name is given.
func (m *mortal) point(name string) {
	_, number, _ := strings.Cut(name, "-")
	work, err := strconv.Atoi(number)
	if err != nil || work < m.from {
		return
	}
	m.mu.Lock()
	m.passed[work]++
	here := m.passed[work] >= work // also what comes of a time-out of what is at its point
	m.mu.Unlock()
	if !here {
		return
	}
	if err := os.WriteFile(reached(m.files, work), nil, 0o600); err != nil {
		panic(err) // the test waits for that file, and shows why it never came
	}
	select {} // until it is killed
}

// reached is the file that tells that the work of a number is at its point.
func reached(files string, work int) string { return filepath.Join(files, strconv.Itoa(work)) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// writes passes a point before and after each write to an Action.
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

// commands forwards to a server, and passes a point before and after each command to a Store's room.
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

// Wherever the operator is killed in an action, at every step boundary and inside every step, the next
// one brings it to the same end: a backup is one file, whole, and the Store continues; after a restore, it
// holds what was backed up and nothing else.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for action, test := range map[string]struct {
		from   string
		filled map[string]string // with what the Store is filled before
		most   int               // points that there are at least; the last may come after the end is seen
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

// killing kills operators, each in the work on several Stores, on each at another point.
type killing struct {
	*shop
	address, action, from, files string
	filled                       map[string]string
}

// work is an Action on a Store of its own, in which the operator is killed at a point of its number.
type work struct {
	number int
	store  *storev1.Store
	action *v1alpha1.Action
	server *client
}

// everywhere kills one operator after the other, while each brings to its end what the one before left,
// until there is a point that none reaches.
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

// begin asks for an Action on a new Store.
func (k *killing) begin(number int) work {
	k.Helper()
	w := work{number: number, store: k.open(fmt.Sprintf("store-%d", number))}
	w.server = k.speaking(k.address, w.store)
	fill(k.T, w.server, k.filled)
	w.action = k.act(w.store, fmt.Sprintf("%s-%d", k.action, number), k.action, k.from)
	return w
}

// halt waits until the operator gets no further.
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

// end waits for the end of all work, and checks it.
func (k *killing) end(all []work, check func(work)) {
	k.Helper()
	for _, w := range all {
		k.over(w.action, journal.Succeeded)
		check(w)
	}
}

// killed is how many of the Actions were at their points.
func (k *killing) killed(all []work) (count int) {
	for _, w := range all {
		if _, err := os.Stat(reached(k.files, w.number)); err == nil {
			count++
		}
	}
	return count
}

// restored checks that a Store is as it was backed up.
func (k *killing) restored(w work) {
	k.Helper()
	k.must(holds(w.server, goods))
}

// whole checks one backup, and that the Store continues.
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

// mortal starts an operator that comes to a halt from a point on, and returns what kills it.
func (k *killing) mortal(from int) (kill func()) {
	k.Helper()
	command := exec.CommandContext(k.Context(), os.Args[0], "-test.run=^TestAsMortal$")
	command.Env = append(os.Environ(), killKubeconfig+"="+k.Kubeconfig, killNamespace+"="+k.Namespace, killBackups+"="+k.backups,
		killAddress+"="+k.address, killFiles+"="+k.files, killFrom+"="+strconv.Itoa(from))
	k.must(command.Start())
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill() // it may be dead
		_ = command.Wait()         // it was killed
	})
	k.Cleanup(kill)
	return kill
}
