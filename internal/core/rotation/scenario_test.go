package rotation_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

// A scenario is a list of commands, one a line:
//
//	times ca=9d leaf=3d settle=1h skew=1h; each has a default
//	replicas 2            the number of replicas
//	skew 1 2m             the clock of replica 1 is ahead by 2m
//	asleep 1 / awake 1    a replica that does nothing, and sees nothing
//	run 40d               advances time, an hour at a time, and prints the actions
//	refuse / admit        bundles cannot be written, and can be written again
//	delete                another client deletes the stored state
//	wrong TEXT            another client makes it unusable
//
// At each moment every leaf that a replica serves has to be valid and trusted by the bundle: an
// outage is printed.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 8, play)
}

func play(t *testing.T, given string) string {
	t.Helper()
	w := &world{Builder: &strings.Builder{}, times: rotation.DefaultTimes, now: start, admits: true}
	w.state.Wrong = "there are none"
	w.replicas = []*replica{{}}
	for line := range strings.Lines(given) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			if err := w.command(strings.Fields(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	return w.String()
}

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a cluster of replicas, with their stored state and the only bundle.
type world struct {
	*strings.Builder
	times    rotation.Times
	now      time.Time
	state    rotation.State
	bundle   []rotation.Certificate
	admits   bool
	replicas []*replica
	made     int
	out      bool
}

type replica struct {
	ahead  time.Duration
	asleep bool
	serves rotation.Certificate
}

func (w *world) command(words []string) error {
	switch words[0] {
	case "times":
		return w.setTimes(words[1:])
	case "replicas":
		n, err := strconv.Atoi(words[1])
		for len(w.replicas) < n {
			w.replicas = append(w.replicas, &replica{})
		}
		return err
	case "skew":
		ahead, err := duration(words[2])
		w.replicas[index(words[1])].ahead = ahead
		return err
	case "asleep", "awake":
		w.replicas[index(words[1])].asleep = words[0] == "asleep"
	case "refuse", "admit":
		w.admits = words[0] == "admit"
	case "delete":
		w.state = rotation.State{Wrong: "there are none"}
	case "wrong":
		w.state = rotation.State{Wrong: strings.Join(words[1:], " ")}
	case "run":
		during, err := duration(words[1])
		w.run(during)
		return err
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

func (w *world) setTimes(settings []string) error {
	w.times = rotation.Times{}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		d, err := duration(value)
		if err != nil {
			return err
		}
		switch name {
		case "ca":
			w.times.CA = d
		case "leaf":
			w.times.Leaf = d
		case "settle":
			w.times.Settle = d
		case "skew":
			w.times.Skew = d
		}
	}
	w.times = w.times.WithDefaults()
	if err := w.times.Validate(); err != nil {
		fmt.Fprintf(w, "invalid: %v\n", err)
	}
	return nil
}

func index(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil {
		panic(err)
	}
	return n - 1
}

func duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// run advances time in steps that are short compared with all configured durations.
func (w *world) run(during time.Duration) {
	step := min(w.times.Leaf/64, during)
	for end := w.now.Add(during); w.now.Before(end); w.now = w.now.Add(step) {
		for i, r := range w.replicas {
			if !r.asleep {
				w.act(i+1, r)
			}
		}
		w.judge()
	}
}

// act runs a replica once: it serves the stored leaf, executes the decision, and writes the bundle.
func (w *world) act(name int, r *replica) {
	for range 8 {
		d := rotation.Decide(w.times, w.state, w.carried, w.now.Add(r.ahead))
		if d.Do == rotation.Nothing {
			if !d.Again.After(w.now.Add(r.ahead)) {
				fmt.Fprintf(w, "%s replica %d: looks again in the past\n", w.stamp(), name)
			}
			break
		}
		w.carryOut(d, w.now.Add(r.ahead))
		fmt.Fprintf(w, "%s replica %d: %s: %s → %s\n", w.stamp(), name, d.Do, d.Why, w.kept())
		w.write()
	}
	w.write()
	r.serves = w.state.Leaf
}

func (w *world) write() {
	if w.admits {
		w.bundle = w.trusted()
	}
}

func (w *world) carryOut(d rotation.Decision, now time.Time) {
	s := &w.state
	switch d.Do {
	case rotation.Make:
		*s = rotation.State{Signing: w.ca(now)}
	case rotation.Introduce:
		next := w.ca(now)
		s.Next = &next
		return
	case rotation.Publish:
		s.Published = now
		return
	case rotation.Promote:
		s.Former, s.Signing, s.Next, s.Published = append(s.Former, s.Signing), *s.Next, nil, time.Time{}
	case rotation.Drop:
		s.Former = slices.DeleteFunc(s.Former, func(c rotation.Certificate) bool { return !now.Before(c.Expires.Add(w.times.Skew)) })
		return
	}
	w.made++
	s.Leaf = rotation.Certificate{ID: fmt.Sprintf("leaf-%d", w.made), By: s.Signing.ID, Issued: now, Expires: w.times.Expiry(s.Signing, now)}
}

func (w *world) ca(now time.Time) rotation.Certificate {
	w.made++
	return rotation.Certificate{ID: fmt.Sprintf("ca-%d", w.made), Issued: now, Expires: now.Add(w.times.CA)}
}

func (w *world) trusted() []rotation.Certificate {
	all := append(slices.Clone(w.state.Former), w.state.Signing)
	if w.state.Next != nil {
		all = append(all, *w.state.Next)
	}
	return all
}

func (w *world) carried(id string) bool { return has(w.bundle, id) }

func has(bundle []rotation.Certificate, id string) bool {
	return slices.ContainsFunc(bundle, func(c rotation.Certificate) bool { return c.ID == id })
}

// judge verifies the leaf of each replica, like an API server.
func (w *world) judge() {
	for i, r := range w.replicas {
		why := w.refuses(r.serves)
		if why != "" {
			if !w.out {
				fmt.Fprintf(w, "%s OUTAGE: replica %d: %s\n", w.stamp(), i+1, why)
			}
			w.out = true
			return
		}
	}
	if w.out {
		fmt.Fprintf(w, "%s all is well again\n", w.stamp())
	}
	w.out = false
}

func (w *world) refuses(leaf rotation.Certificate) string {
	var ca rotation.Certificate
	for _, c := range w.bundle {
		if c.ID == leaf.By {
			ca = c
		}
	}
	switch {
	case ca.ID == "":
		return fmt.Sprintf("%s is of %s, which is in no bundle", leaf.ID, leaf.By)
	case !w.now.Before(leaf.Expires), !w.now.Before(ca.Expires):
		return leaf.ID + " has expired"
	case w.now.Before(leaf.Issued.Add(-w.times.Skew)), w.now.Before(ca.Issued.Add(-w.times.Skew)):
		return leaf.ID + " is not valid yet"
	}
	return ""
}

// kept returns the state as one line.
func (w *world) kept() string {
	text := fmt.Sprintf("%s by %s until %s", w.state.Leaf.ID, w.state.Leaf.By, at(w.state.Leaf.Expires))
	if w.state.Next != nil {
		text += ", next " + w.state.Next.ID
	}
	for _, former := range w.state.Former {
		text += fmt.Sprintf(", former %s until %s", former.ID, at(former.Expires))
	}
	return text
}

func (w *world) stamp() string { return at(w.now) }

// at returns a time as the duration since the start.
func at(t time.Time) string {
	since := t.Sub(start).Round(time.Minute)
	return fmt.Sprintf("%dd%02dh%02dm", int(since.Hours())/24, int(since.Hours())%24, int(since.Minutes())%60)
}
