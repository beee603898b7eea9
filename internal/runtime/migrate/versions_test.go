package migrate_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/operon-framework/operon"
	kind "github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/operontest"
)

// Plot is version v1 of a kind. OldPlot is version v1beta1, in which its only field has another name.
type (
	Plot struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec struct {
			Host string `json:"host,omitempty"`
		} `json:"spec,omitempty"`
		Status boxtest.BoxStatus `json:"status,omitempty"`
	}
	OldPlot struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`

		Spec struct {
			Hostname string `json:"hostname,omitempty"`
		} `json:"spec,omitempty"`
		Status boxtest.BoxStatus `json:"status,omitempty"`
	}
)

func (p *Plot) DeepCopyObject() runtime.Object    { return kind.Copied(p) }
func (p *OldPlot) DeepCopyObject() runtime.Object { return kind.Copied(p) }

// Hub marks the version to which others are converted.
func (p *Plot) Hub() {}

// ConvertTo converts an OldPlot to a Plot.
func (p *OldPlot) ConvertTo(hub conversion.Hub) error {
	to := hub.(*Plot)
	to.ObjectMeta, to.Status = *p.ObjectMeta.DeepCopy(), *kind.Copied(&p.Status)
	to.Spec.Host = p.Spec.Hostname
	return nil
}

// ConvertFrom converts a Plot to an OldPlot.
func (p *OldPlot) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*Plot)
	p.ObjectMeta, p.Status = *from.ObjectMeta.DeepCopy(), *kind.Copied(&from.Status)
	p.Spec.Hostname = from.Spec.Host
	return nil
}

// plotted and oldPlotted are the operators of the two versions: both write the host to a ConfigMap.
type (
	plotted    struct{}
	oldPlotted struct{}
)

func (plotted) Compose(_ context.Context, p *Plot, out *operon.Composition) error {
	out.Child(boxtest.ConfigMap(p.Name, map[string]string{"host": p.Spec.Host}))
	return nil
}

func (oldPlotted) Compose(_ context.Context, p *OldPlot, out *operon.Composition) error {
	out.Child(boxtest.ConfigMap(p.Name, map[string]string{"host": p.Spec.Hostname}))
	return nil
}

// estate is a cluster with a kind whose version changes.
type estate struct {
	*shelf
	server *httptest.Server
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{shelf: newShelf(t)}
	scheme := runtime.NewScheme()
	e.Must(e.add(scheme))
	e.server = httptest.NewTLSServer(webhook.NewWebhookHandler(scheme, webhook.NewRegistry()))
	t.Cleanup(func() {
		e.define("v1", nil, "v1beta1", "v1") // a kind without a working conversion would block the deletion of namespaces
		e.server.Close()
	})
	return e
}

func (e *estate) add(scheme *runtime.Scheme) error {
	for version, object := range map[string]runtime.Object{"v1": &Plot{}, "v1beta1": &OldPlot{}} {
		group := schema.GroupVersion{Group: e.group, Version: version}
		scheme.AddKnownTypeWithName(group.WithKind("Box"), object)
		scheme.AddKnownTypeWithName(group.WithKind("BoxList"), &unstructured.UnstructuredList{})
		metav1.AddToGroupVersion(scheme, group)
	}
	return nil
}

// webhook returns the conversion of the CRD while versions are converted.
func (e *estate) webhook() map[string]any {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.server.Certificate().Raw})
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             map[string]any{"url": e.server.URL, "caBundle": base64.StdEncoding.EncodeToString(authority)},
	}}
}

// serves waits until a plot can be read in a version, with its host in the given field.
func (e *estate) serves(version, name, field string) {
	e.Helper()
	e.Eventually(name+" to be served in "+version, func(ctx context.Context) error {
		p := e.box(version, name)
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(p.Object, "spec", field); got != name+".example.com" {
			return fmt.Errorf("its spec is %v", p.Object["spec"])
		}
		return nil
	})
}

// doomed returns a connection that breaks after the given number of plots were rewritten.
func doomed(config *rest.Config, after int32) (_ *rest.Config, died chan struct{}) {
	config, died = rest.CopyConfig(config), make(chan struct{})
	var written atomic.Int32
	once := sync.OnceFunc(func() { close(died) })
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/boxes/") && !strings.HasSuffix(r.URL.Path, "/status") && written.Add(1) > after {
				once()
				return nil, errors.New("killed")
			}
			return next.RoundTrip(r)
		})
	})
	return config, died
}

// A kind gets a new version: objects that the old operator stored are served in both versions, converted, taken over by the new
// operator, which is killed during the migration, and migrated. Then the old version is removed.
func TestAKindChangesItsVersion(t *testing.T) {
	t.Parallel()
	operontest.Conversion(
		&Plot{TypeMeta: metav1.TypeMeta{APIVersion: "test.operon.dev/v1", Kind: "Plot"}},
		&OldPlot{TypeMeta: metav1.TypeMeta{APIVersion: "test.operon.dev/v1beta1", Kind: "Plot"}},
	).RoundTrip(t)
	e := newEstate(t)
	e.define("v1beta1", nil, "v1beta1")
	names := []string{"a", "b", "c", "d", "e", "f"}
	_, stop := e.RunWith(e.Config, operon.Config{Namespace: e.Namespace}, operon.API(e.add), operon.Manage(oldPlotted{}))
	for _, name := range names {
		p := e.box("v1beta1", name)
		e.Must(unstructured.SetNestedField(p.Object, name+".example.com", "spec", "hostname"))
		e.Must(e.Client.Create(t.Context(), p))
	}
	for _, name := range names {
		e.Holds(boxtest.ConfigMap(name, nil), map[string]string{"host": name + ".example.com"})
	}
	e.Eventually("the old operator to be done", e.allReady("v1beta1", names))
	stop()

	e.define("v1", e.webhook(), "v1beta1", "v1")
	for _, name := range names {
		e.serves("v1beta1", name, "hostname")
		e.serves("v1", name, "host")
	}
	dying, died := doomed(e.Config, 3)
	_, kill := e.RunWith(dying, operon.Config{Namespace: e.Namespace}, operon.API(e.add), operon.Manage(plotted{}, operon.MigrateStorage()))
	e.Eventually("three boxes to be rewritten", func(ctx context.Context) error {
		select {
		case <-died:
			return nil
		default:
			return errors.New("not yet")
		}
	})
	kill()
	e.Must(e.stored("v1beta1", "v1")(t.Context()))

	requests, stop := e.RunWith(e.Config, operon.Config{Namespace: e.Namespace}, operon.API(e.add), operon.Manage(plotted{}, operon.MigrateStorage()))
	e.Eventually("the older version to be struck out", e.stored("v1"))
	if got := rewrites(requests); len(got) != 3 {
		t.Errorf("the second operator wrote %q, want the three that the first did not", got)
	}
	stop()

	e.server.Close() // nothing needs to be converted any more
	e.define("v1", nil, "v1")
	for _, name := range names {
		e.serves("v1", name, "host")
	}
}

// An operator serves its conversion webhook itself. Changes of the webhook's configuration by other clients are reverted. While
// no operator runs, objects are served in the stored version, and requests for the other version fail until an operator runs
// again.
func TestAnOperatorConverts(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	e.define("v1", nil, "v1beta1", "v1")
	t.Cleanup(func() { // other field managers cannot remove the fields that the operator has set by leaving them out
		none := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
		if err := e.Client.Patch(context.WithoutCancel(t.Context()), e.definition(), none); err != nil {
			t.Error(err)
		}
	})
	run := func() (stop func()) {
		_, stop = e.RunWith(e.Config, e.Beside(), operon.API(e.add), operon.Manage(plotted{}))
		return stop
	}
	stop := run()
	p := e.box("v1", "a")
	e.Must(unstructured.SetNestedField(p.Object, "a.example.com", "spec", "host"))
	e.Must(e.Client.Create(t.Context(), p))
	e.serves("v1beta1", "a", "hostname")

	trusted := e.trusted()
	emptied := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":null}}}}}`))
	e.Must(e.Client.Patch(t.Context(), e.definition(), emptied))
	e.Eventually("the bundle to be put back", func(context.Context) error {
		if !bytes.Equal(e.trusted(), trusted) {
			return errors.New("it is another one")
		}
		return nil
	})
	e.serves("v1beta1", "a", "hostname")
	stop()

	old := e.box("v1beta1", "a")
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(old), old); err == nil || !strings.Contains(err.Error(), "conversion webhook for") {
		t.Errorf("error %v, want one that names the conversion", err)
	}
	e.serves("v1", "a", "host")
	run()
	e.serves("v1beta1", "a", "hostname")
}

// trusted returns the CA bundle that API servers trust for conversions, or nil.
func (e *estate) trusted() []byte {
	e.Helper()
	d := e.definition()
	e.Must(e.Client.Get(e.Context(), client.ObjectKeyFromObject(d), d))
	if d.Spec.Conversion.Webhook == nil {
		return nil
	}
	return d.Spec.Conversion.Webhook.ClientConfig.CABundle
}

// allReady waits for the condition Ready of plots.
func (e *estate) allReady(version string, names []string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, name := range names {
			p := e.box(version, name)
			if err := e.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			if !strings.Contains(fmt.Sprint(p.Object["status"]), "all resources are up to date and ready") {
				return fmt.Errorf("%s has the status %v", name, p.Object["status"])
			}
		}
		return nil
	}
}

// held returns a connection whose first write of a CRD waits until it is released. read returns the requests for boxes in the
// meantime.
func held(config *rest.Config) (_ *rest.Config, waiting chan struct{}, release func(), read func() []string) {
	config, waiting = rest.CopyConfig(config), make(chan struct{})
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	arrived := sync.OnceFunc(func() { close(waiting) })
	var mu sync.Mutex
	var early []string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/customresourcedefinitions/") {
				arrived()
				<-gate
			}
			if strings.Contains(r.URL.Path, "/boxes") && !strings.Contains(r.URL.Path, "/customresourcedefinitions/") {
				mu.Lock()
				early = append(early, r.URL.String())
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	return config, waiting, release, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(early)
	}
}

// An operator with a conversion reads no object before API servers use the conversion: fields of the older version would be
// missing. Then it works.
func TestNothingIsReadUnconverted(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	e.Cleanup(func() { // other field managers cannot remove the fields that the operator applied
		none := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
		e.Must(e.Client.Patch(e.Afterwards().Context(), e.definition(), none))
	})
	e.define("v1beta1", nil, "v1beta1")
	p := e.box("v1beta1", "a")
	e.Must(unstructured.SetNestedField(p.Object, "a.example.com", "spec", "hostname"))
	e.Must(e.Client.Create(t.Context(), p))
	e.define("v1", nil, "v1beta1", "v1")

	slow, waiting, release, read := held(e.Config)
	defer release()
	e.RunWith(slow, operon.Config{Namespace: e.Namespace, Webhooks: operon.Webhooks{BindAddress: "127.0.0.1:0"}},
		operon.API(e.add), operon.Manage(plotted{}))
	e.Eventually("the operator to register its conversion", func(context.Context) error {
		select {
		case <-waiting:
			return nil
		default:
			return errors.New("not yet")
		}
	})
	e.Still("nothing to be read before", func(context.Context) error {
		if got := read(); len(got) > 0 {
			return fmt.Errorf("it has read %q", got)
		}
		return nil
	})
	release()
	e.Holds(boxtest.ConfigMap("a", nil), map[string]string{"host": "a.example.com"})
	e.serves("v1", "a", "host")
	e.serves("v1beta1", "a", "hostname")
}
