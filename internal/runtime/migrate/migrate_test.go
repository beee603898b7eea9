package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/internal/testing/scenario"
)

// TestScenarios executes the scenarios in testdata/*.txt, one step per line. The line "run" runs a migration. The lines
// before it define the state of the cluster.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 11, func(t *testing.T, given string) string {
		c := &fake{t: t, generation: 1, at: 100, pages: 100, marks: map[string]Mark{}}
		for line := range strings.Lines(given) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				c.do(line)
			}
		}
		return c.out.String()
	})
}

// fake is a cluster in memory.
type fake struct {
	t          *testing.T
	out        strings.Builder
	definition Definition
	generation int
	objects    []*stored
	marks      map[string]Mark
	at         uint64 // the last resource version

	pages    int      // per page
	denied   []string // verbs
	faults   map[string]string
	killed   int // writes until the operator is killed; 0 for never
	end      context.CancelFunc
	expires  int // pages until the list expires
	changing bool
	converts bool // the versions require a conversion
}

// stored is an object with the version in which it is stored.
type stored struct {
	name, version string
	at            uint64
}

func (c *fake) do(line string) {
	words := strings.Fields(line)
	switch words[0] {
	case "definition": // definition v1 of v1beta1,v1
		c.generation++
		c.definition = Definition{Name: "sites.example.com", Identity: fmt.Sprint("uid/", c.generation), Storage: words[1], Stored: strings.Split(words[3], ",")}
	case "objects": // objects v1beta1 a b c
		for _, name := range words[2:] {
			c.at++
			c.objects = append(c.objects, &stored{name, words[1], c.at})
		}
	case "page":
		c.pages = c.number(words[1])
	case "deny":
		c.denied = append(c.denied, words[1])
	case "allow":
		c.denied = nil
	case "fault": // fault a conflict
		if c.faults == nil {
			c.faults = map[string]string{}
		}
		c.faults[words[1]] = words[2]
	case "converts":
		c.converts = true
	case "converted":
		c.definition.Converted = true
	case "mend":
		c.faults = nil
	case "kill": // kill after 2
		c.killed = c.number(words[2])
	case "expire":
		c.expires = c.number(words[2])
	case "change":
		c.changing = true
	case "run":
		c.run()
	default:
		c.t.Fatalf("what is %q?", line)
	}
}

func (c *fake) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// run runs the operator until the migration completes or fails, or the operator is killed.
func (c *fake) run() {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	c.end = cancel
	log := funcr.New(func(_, args string) { fmt.Fprintf(&c.out, "log: %s\n", args) }, funcr.Options{LogTimestamp: false})
	m := &Migration{Definitions: c, Objects: c, Marks: c, Kind: "Site", Log: log, Pace: 1e6, Clock: clocktesting.NewFakeClock(time.Now())}
	m.Converts = c.converts
	err := m.Run(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(&c.out, "killed")
	case err != nil:
		fmt.Fprintln(&c.out, "error:", err)
	}
	fmt.Fprintf(&c.out, "stored %s:", strings.Join(c.definition.Stored, ","))
	for _, object := range c.objects {
		fmt.Fprintf(&c.out, " %s=%s", object.name, object.version)
	}
	c.out.WriteString("\n")
}

func (c *fake) may(verb string) error {
	if slices.Contains(c.denied, verb) {
		return &MissingError{"example.com", "sites", "", verb}
	}
	return nil
}

func (c *fake) Read(context.Context) (Definition, error) {
	d := c.definition
	d.Stored = slices.Clone(d.Stored)
	return d, c.may("get")
}

func (c *fake) MayStrike(context.Context, Definition) error { return c.may("update") }

func (c *fake) Strike(_ context.Context, d Definition) error {
	if d.Identity != c.definition.Identity {
		return apierrors.NewConflict(schema.GroupResource{}, d.Name, errors.New("it was changed meanwhile"))
	}
	fmt.Fprintf(&c.out, "strike %s\n", d.Older())
	c.definition.Stored = []string{d.Storage}
	return nil
}

func (c *fake) List(_ context.Context, next string) (Page, error) {
	if err := c.may("list"); err != nil {
		return Page{}, err
	}
	from := 0
	if next != "" {
		if c.expires--; c.expires == 0 {
			return Page{}, apierrors.NewResourceExpired("the list is too old")
		}
		from = c.number(next)
	}
	to := min(from+c.pages, len(c.objects))
	page := Page{At: fmt.Sprint(c.at), Remaining: int64(len(c.objects) - to)}
	if to < len(c.objects) {
		page.Next = fmt.Sprint(to)
	}
	for _, object := range c.objects[from:to] {
		page.Objects = append(page.Objects, Object{Name: object.name, ResourceVersion: fmt.Sprint(object.at)})
	}
	fmt.Fprintf(&c.out, "list %d\n", len(page.Objects))
	return page, nil
}

func (c *fake) Rewrite(_ context.Context, object Object) error {
	if err := c.may("patch"); err != nil {
		return err
	}
	i := slices.IndexFunc(c.objects, func(s *stored) bool { return s.name == object.Name })
	fault := c.faults[object.Name]
	fmt.Fprintf(&c.out, "write %s %s\n", object.Name, fault)
	switch fault {
	case "conflict": // another client wrote it
		c.at++
		c.objects[i].version, c.objects[i].at = c.definition.Storage, c.at
		return apierrors.NewConflict(schema.GroupResource{}, object.Name, errors.New("the object has been modified"))
	case "gone":
		c.objects = slices.Delete(c.objects, i, i+1)
		return apierrors.NewNotFound(schema.GroupResource{}, object.Name)
	case "invalid":
		return errors.New("spec.size: Invalid value")
	}
	if c.objects[i].version != c.definition.Storage {
		c.at++
		c.objects[i].version, c.objects[i].at = c.definition.Storage, c.at
	}
	if c.killed--; c.killed == 0 {
		c.end()
	}
	if c.changing {
		c.changing = false
		c.do("definition v2 of v1beta1,v1,v2")
	}
	return nil
}

func (c *fake) Load(_ context.Context, name string) (Mark, error) {
	return parseMark(c.marks[name].String()), c.may("mark")
}

func (c *fake) Save(_ context.Context, name string, mark Mark) error {
	if err := c.may("mark"); err != nil {
		return err
	}
	fmt.Fprintf(&c.out, "mark %s\n", mark)
	c.marks[name] = mark
	return nil
}

func TestADefinitionSettles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct{ ago, want time.Duration }{
		{0, Settle}, {time.Minute, Settle}, {2 * time.Hour, 0}, {-time.Minute, Settle}, // the clock of the API server may be behind
	} {
		if got := Settled(now.Add(-test.ago), now).Sub(now); got != test.want {
			t.Errorf("changed %s ago, wait %s, want %s", test.ago, got, test.want)
		}
	}
}

func FuzzMark(f *testing.F) {
	f.Add("uid/3@17")
	f.Add("@")
	f.Fuzz(func(t *testing.T, text string) {
		mark := parseMark(text)
		if again := parseMark(mark.String()); again != mark && !strings.Contains(mark.Of, "@") {
			t.Errorf("%q is %v, and again %v", text, mark, again)
		}
	})
}

// Nothing is listed or written before each API server knows the current definition.
func TestAMigrationWaitsUntilADefinitionSettles(t *testing.T) {
	t.Parallel()
	c := &fake{t: t, at: 100, pages: 100, marks: map[string]Mark{}, end: func() {}}
	c.do("definition v1 of v1beta1,v1")
	c.do("objects v1beta1 a")
	now := clocktesting.NewFakeClock(time.Now())
	c.definition.Changed = now.Now().Add(-time.Second)
	m := &Migration{Definitions: c, Objects: c, Marks: c, Kind: "Site", Pace: 1e6, Clock: now}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	for !now.HasWaiters() {
		select {
		case err := <-ended:
			t.Fatalf("it waits for nothing (%v) and does\n%s", err, &c.out)
		case <-time.After(time.Millisecond):
		}
	}
	if c.out.Len() > 0 {
		t.Errorf("before the definition has settled it does\n%s", &c.out)
	}
	now.Step(Settle - time.Second)
	if !now.HasWaiters() {
		t.Error("it waits for less than the time since it saw the definition, whose date is of another clock")
	}
	now.Step(time.Second)
	if err := <-ended; err != nil || c.objects[0].version != "v1" {
		t.Errorf("afterwards the object is stored in %s, %v", c.objects[0].version, err)
	}
}

// A list whose snapshot has expired continues with the token of the API server: from the beginning, a large kind would never end.
func TestResumedLists(t *testing.T) {
	t.Parallel()
	expired := apierrors.NewResourceExpired("too old")
	if got := resumed(expired); got != "" {
		t.Errorf("without a token, it continues at %q", got)
	}
	expired.ErrStatus.Continue = "next"
	if got := resumed(fmt.Errorf("list: %w", expired)); got != "next" {
		t.Errorf("it continues at %q", got)
	}
}
