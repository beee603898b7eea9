package aggregated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"
	"github.com/operon-framework/operon/aggregated/aggregatedtest"
	"github.com/operon-framework/operon/local/localtest"
)

// world is a cluster with an operator that serves an API in it.
type world struct {
	client.WithWatch
	*localtest.Env
	rest    rest.Interface
	address string // of the operator
	notes   *notes
}

// group is that of the kinds that are served, and version theirs.
const group = "aggregated.test.operon.dev"

var version = schema.GroupVersion{Group: group, Version: "v1"}

// newWorld starts an operator that serves an API.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{notes: &notes{all: map[client.ObjectKey]*Note{}}}
	w.Env, w.address = aggregatedtest.Serve(t, aggregated.Serve(addToScheme,
		aggregated.Kind(w.notes, aggregated.Resource[*Note]{ShortNames: []string{"nt"}, Columns: []aggregated.Column[*Note]{
			{Name: "Text", Of: func(n *Note) any { return n.Text }},
			{Name: "Length", Type: "integer", Wide: true, Of: func(n *Note) any { return len(n.Text) }},
		}, Contents: map[string]func(context.Context, client.ObjectKey) (*aggregated.Content, error){"picture": w.notes.picture}}),
		aggregated.Kind(days{}, aggregated.Resource[*Day]{ClusterScoped: true}),
		aggregated.Review(greeter{}, aggregated.Resource[*Greeting]{ClusterScoped: true}),
		aggregated.Kind(laterNotes{w.notes}, aggregated.Resource[*LaterNote]{}),
	), version, later)
	w.WithWatch = w.clientAs(t, w.Config)
	config := rest.CopyConfig(w.Config)
	config.GroupVersion, config.NegotiatedSerializer = &metav1.SchemeGroupVersion, clientgoscheme.Codecs.WithoutConversion()
	var err error
	if w.rest, err = rest.RESTClientFor(config); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clientAs(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// made makes objects.
func (w *world) made(t *testing.T, all ...client.Object) {
	t.Helper()
	for _, object := range all {
		if err := w.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) note(name, text string) *Note {
	return &Note{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Text: text}
}

// Note is a text.
type Note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Text    string       `json:"text"`
	Expires *metav1.Time `json:"expires,omitempty"`
}

// NoteList is a list of Notes.
type NoteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Note `json:"items"`
}

// Greeting is a question, and its answer.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Text string `json:"text,omitempty"`
}

// Day is one of the week.
type Day struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// DayList is a list of Days.
type DayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Day `json:"items"`
}

func (n *Note) DeepCopyObject() runtime.Object     { return copied(n) }
func (n *NoteList) DeepCopyObject() runtime.Object { return copied(n) }
func (g *Greeting) DeepCopyObject() runtime.Object { return copied(g) }
func (d *Day) DeepCopyObject() runtime.Object      { return copied(d) }
func (d *DayList) DeepCopyObject() runtime.Object  { return copied(d) }

func copied[T any](of *T) *T {
	data, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		panic(err)
	}
	return to
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(version, &Note{}, &NoteList{}, &Greeting{}, &Day{}, &DayList{})
	metav1.AddToGroupVersion(scheme, version)
	addLater(scheme)
	return nil
}

// notes keeps Notes in memory.
type notes struct {
	mu        sync.Mutex
	all       map[client.ObjectKey]*Note
	version   int
	listeners []listener
	failure   error
}

func (n *notes) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure = err
}

func (n *notes) Get(_ context.Context, key client.ObjectKey) (*Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found, ok := n.all[key]; ok {
		return copied(found), nil
	}
	return nil, aggregated.ErrNotFound
}

// picture returns the text of a note as a picture.
func (n *notes) picture(ctx context.Context, key client.ObjectKey) (*aggregated.Content, error) {
	found, err := n.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return &aggregated.Content{MediaType: "image/svg+xml", Data: fmt.Appendf(nil, "<svg>%s</svg>", found.Text)}, nil
}

func (n *notes) List(_ context.Context, namespace string) ([]*Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []*Note
	for key, one := range n.all {
		if namespace == "" || key.Namespace == namespace {
			found = append(found, copied(one))
		}
	}
	return found, n.failure
}

func (n *notes) Create(_ context.Context, wanted *Note) (*Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, exists := n.all[client.ObjectKeyFromObject(wanted)]; exists {
		return nil, aggregated.ErrExists
	}
	return n.keep(wanted), nil
}

func (n *notes) Update(_ context.Context, is, wanted *Note) (*Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now, exists := n.all[client.ObjectKeyFromObject(is)]; !exists || now.ResourceVersion != is.ResourceVersion {
		return nil, aggregated.ErrConflict
	}
	return n.keep(wanted), nil
}

// keep stores a Note under a new version. The lock is held.
func (n *notes) keep(one *Note) *Note {
	n.version++
	one.ResourceVersion = strconv.Itoa(n.version)
	n.all[client.ObjectKeyFromObject(one)] = copied(one)
	n.tell(one, false)
	return copied(one)
}

func (n *notes) Delete(_ context.Context, one *Note) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, client.ObjectKeyFromObject(one))
	n.tell(one, true)
	return nil
}

func (n *notes) tell(one *Note, gone bool) {
	for _, l := range n.listeners {
		switch {
		case l.namespace != "" && l.namespace != one.Namespace:
		case gone:
			l.Gone(copied(one))
		default:
			l.Changed(copied(one))
		}
	}
}

// listener hears of Notes in a namespace, or in all.
type listener struct {
	aggregated.Listener[*Note]
	namespace string
}

func (n *notes) Watch(_ context.Context, namespace string, to aggregated.Listener[*Note]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners = append(n.listeners, listener{to, namespace}) // for as long as the test, which is no longer than the clients
	return nil
}

// greeter greets who asks.
type greeter struct{}

func (greeter) Create(ctx context.Context, g *Greeting) (*Greeting, error) {
	g.Text = "hello " + aggregated.User(ctx).GetName()
	return g, nil
}

// days are worked out.
type days struct{}

var week = map[string]bool{"monday": true, "tuesday": true}

func (days) Get(_ context.Context, key client.ObjectKey) (*Day, error) {
	if !week[key.Name] {
		return nil, aggregated.ErrNotFound
	}
	return &Day{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, nil
}

func (d days) List(ctx context.Context, _ string) ([]*Day, error) {
	var all []*Day
	for _, name := range slices.Sorted(maps.Keys(week)) {
		day, err := d.Get(ctx, client.ObjectKey{Name: name})
		if err != nil {
			return nil, err
		}
		all = append(all, day)
	}
	return all, nil
}
