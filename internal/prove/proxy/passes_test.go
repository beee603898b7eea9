package proxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/local/localtest"
)

// life contains the actions of a client on an object, and the expected record of each.
var life = []struct {
	name string
	do   func(context.Context, typedcorev1.ConfigMapInterface) error
	want string
}{
	{"create", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		_, err := c.Create(ctx, configMap("x", map[string]string{"a": "1"}), metav1.CreateOptions{})
		return err
	}, "create 201 plain changed"},
	{"create again", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		_, err := c.Create(ctx, configMap("x", nil), metav1.CreateOptions{})
		return but(err, "already exists")
	}, "create 409 plain unchanged"},
	{"get", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		_, err := c.Get(ctx, "x", metav1.GetOptions{})
		return err
	}, "get 200  "},
	{"update", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		return update(ctx, c, func(x *corev1.ConfigMap) { x.Data["a"] = "2" })
	}, "update 200 plain changed"},
	{"update nothing", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		return update(ctx, c, func(*corev1.ConfigMap) {})
	}, "update 200 plain unchanged"},
	{"update what is old", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		return but(update(ctx, c, func(x *corev1.ConfigMap) { x.ResourceVersion = "1" }), "has been modified")
	}, "update 409 plain unchanged"},
	{"patch", patchTo(`{"data":{"a":"3"}}`), "patch 200 plain changed"},
	{"patch nothing", patchTo(`{"data":{"a":"3"}}`), "patch 200 plain unchanged"},
	{"apply", apply("b"), "patch 200 applier changed"},
	{"apply nothing", apply("b"), "patch 200 applier unchanged"},
	{"dry run", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		_, err := c.Patch(ctx, "x", types.MergePatchType, []byte(`{"data":{"a":"4"}}`), metav1.PatchOptions{DryRun: []string{"All"}})
		return err
	}, "patch 200 plain unchanged"},
	{"add a finalizer", patchTo(`{"metadata":{"finalizers":["test.operon.dev/wait"]}}`), "patch 200 plain changed"},
	{"delete", remove, "delete 200 plain changed"},
	{"delete again", remove, "delete 200 plain unchanged"},
	{"lift the finalizer", patchTo(`{"metadata":{"finalizers":null}}`), "patch 200 plain changed"},
	{"delete what is gone", func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		return but(remove(ctx, c), "not found")
	}, "delete 404 plain unchanged"},
}

func TestWhatPassesIsRecorded(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for protocol, next := range protocols {
			t.Run(contentType+" "+protocol, func(t *testing.T) {
				t.Parallel()
				newStand(t).lives(contentType, next)
			})
		}
		t.Run(contentType+" witnessed", func(t *testing.T) {
			t.Parallel()
			late := func(requestlog.Request) (string, bool) { return "1", true } // a witness that has not seen the operator's last write yet
			s := standWith(t, proxy.Options{Before: late})
			s.lives(contentType, nil)
			s.must(s.deleteWhatOthersMade())
		})
	}
}

// lives executes all actions of life on an object, and compares the record after each.
func (s *stand) lives(contentType string, protocols []string) {
	s.Helper()
	config := s.speaking(protocols)
	config.ContentType = contentType
	client := s.configMaps(config)
	for _, step := range life {
		if err := step.do(s.Context(), client); err != nil {
			s.Fatalf("%s: %v", step.name, err)
		}
		if err := s.lastIs(step.want); err != nil {
			s.Fatalf("%s: %v", step.name, err)
		}
	}
}

// deleteWhatOthersMade deletes an object that another client created and that only a witness has seen.
func (s *stand) deleteWhatOthersMade() error {
	s.write(s.configMaps(s.Env.Config), "x", "1")
	if err := remove(s.Context(), s.configMaps()); err != nil {
		return err
	}
	return s.lastIs("delete 200 plain changed")
}

// lastIs compares the last request of the record. It waits because the record is written after the response.
func (s *stand) lastIs(want string) error {
	var last string
	for until := time.Now().Add(localtest.Patience); time.Now().Before(until); {
		var r requestlog.Request
		if all := s.Record().Requests(); len(all) > 0 {
			r = all[len(all)-1]
		}
		last = fmt.Sprintf("%s %d %s %s", r.Verb, r.Status, r.Manager, r.Effect)
		whole := r.Resource == "configmaps" && r.Namespace == s.Namespace && r.Name == "x" && r.Took > 0 && r.ContentType != ""
		if whole && last == want && (r.Effect != requestlog.Changed || r.After != "" || r.Verb == "delete") {
			return nil
		}
		if err := pause(s.Context(), 5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the last request is %q, want %q", last, want)
}

func pause(ctx context.Context, while time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(while):
		return nil
	}
}

// but returns nil if err contains a text, and an error otherwise.
func but(err error, text string) error {
	if err != nil && strings.Contains(err.Error(), text) {
		return nil
	}
	return fmt.Errorf("got %w, want %q", err, text)
}

func update(ctx context.Context, c typedcorev1.ConfigMapInterface, edit func(*corev1.ConfigMap)) error {
	x, err := c.Get(ctx, "x", metav1.GetOptions{})
	if err != nil {
		return err
	}
	edit(x)
	_, err = c.Update(ctx, x, metav1.UpdateOptions{})
	return err
}

func patchTo(patch string) func(context.Context, typedcorev1.ConfigMapInterface) error {
	return func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		_, err := c.Patch(ctx, "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
}

func apply(value string) func(context.Context, typedcorev1.ConfigMapInterface) error {
	return func(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
		x := applycorev1.ConfigMap("x", "").WithData(map[string]string{"applied": value})
		x.Namespace = nil
		_, err := c.Apply(ctx, x, metav1.ApplyOptions{FieldManager: "applier"})
		return err
	}
}

func remove(ctx context.Context, c typedcorev1.ConfigMapInterface) error {
	return c.Delete(ctx, "x", metav1.DeleteOptions{})
}

// events counts the events of a watch until there are enough or the watch ends.
func (s *stand) events(client typedcorev1.ConfigMapInterface, of metav1.ListOptions, enough int) int {
	s.Helper()
	stream, err := client.Watch(s.Context(), of)
	s.must(err)
	defer stream.Stop()
	for seen := 0; ; {
		select {
		case event, ok := <-stream.ResultChan():
			if !ok || event.Type == watch.Error {
				return seen
			}
			if seen++; seen == enough {
				return seen
			}
		case <-time.After(localtest.Patience):
			s.Fatalf("no event for a while after %d", seen)
		}
	}
}

// Events reach the operator immediately, in all encodings, after a list and instead of a list.
func TestWatchesAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		for protocol, next := range protocols {
			for _, initial := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %v", contentType, protocol, initial), func(t *testing.T) {
					t.Parallel()
					s := newStand(t)
					config := s.speaking(next)
					config.ContentType = contentType
					s.eachComesAtOnce(s.configMaps(config), initial)
				})
			}
		}
	}
}

func (s *stand) eachComesAtOnce(client typedcorev1.ConfigMapInterface, initial bool) {
	s.Helper()
	of := metav1.ListOptions{FieldSelector: "metadata.name=x"}
	if initial {
		of.SendInitialEvents, of.AllowWatchBookmarks, of.ResourceVersionMatch = &initial, true, metav1.ResourceVersionMatchNotOlderThan
	}
	stream, err := client.Watch(s.Context(), of)
	s.must(err)
	defer stream.Stop()
	if initial {
		s.next(stream, watch.Bookmark)
	}
	_, err = client.Create(s.Context(), configMap("x", map[string]string{"long": strings.Repeat("y", 100_000)}), metav1.CreateOptions{})
	s.must(err)
	s.next(stream, watch.Added)
	for range 3 {
		s.must(update(s.Context(), client, func(x *corev1.ConfigMap) { x.Data["n"] += "1" }))
		s.next(stream, watch.Modified)
	}
	s.must(remove(s.Context(), client))
	s.next(stream, watch.Deleted)
	stream.Stop()
	if r := s.recorded("watch", "x"); r.Events < 5 || r.Status != 200 || r.Error != "" {
		s.Errorf("recorded is %+v", r)
	}
}

func (s *stand) next(stream watch.Interface, want watch.EventType) {
	s.Helper()
	for {
		select {
		case event := <-stream.ResultChan():
			if event.Type == want {
				return
			}
			if event.Type != watch.Bookmark { // bookmarks may come at any time
				s.Fatalf("event %s, want %s: %+v", event.Type, want, event.Object)
			}
		case <-time.After(localtest.Patience):
			s.Fatalf("no event %s", want)
		}
	}
}

// A long list is compressed by the server, and is forwarded unchanged.
func TestLongListsPass(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	client := s.configMaps()
	for _, name := range []string{"a", "b", "c"} {
		_, err := client.Create(t.Context(), configMap(name, map[string]string{"long": strings.Repeat("y", 200_000)}), metav1.CreateOptions{})
		s.must(err)
	}
	list, err := client.List(t.Context(), metav1.ListOptions{})
	s.must(err)
	if len(list.Items) < 3 || s.recorded("list", "").After != list.ResourceVersion {
		t.Errorf("%d items at %s, recorded is %+v", len(list.Items), list.ResourceVersion, s.recorded("list", ""))
	}
}

// The API server sees the operator, or the user that a request impersonates, never the user that started the
// proxy.
func TestIdentity(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	direct := kubernetes.NewForConfigOrDie(env.Config)
	one, two := account(t, direct, env.Namespace, "one"), account(t, direct, env.Namespace, "two")
	server := rest.AnonymousClientConfig(env.Config)
	server.BearerToken = one
	for name, options := range map[string]proxy.Options{"a token": {Server: server}, "a certificate": {Server: env.Config}} {
		t.Run(name, func(t *testing.T) {
			s := standWith(t, options)
			own := "system:serviceaccount:" + env.Namespace + ":one"
			if options.Server == env.Config {
				own = whoAmI(t, env.Config)
			}
			if got := whoAmI(t, s.Proxy.Config()); got != own {
				t.Errorf("the operator is %s, want %s", got, own)
			}
			other := rest.AnonymousClientConfig(s.Proxy.Config())
			if got := whoAmI(t, other); strings.Contains(got, "one") || got == own {
				t.Errorf("somebody without a token is %s", got)
			}
			other.BearerToken = two
			if got := whoAmI(t, other); got != "system:serviceaccount:"+env.Namespace+":two" {
				t.Errorf("somebody with a token is %s", got)
			}
		})
	}
}

func account(t *testing.T, client kubernetes.Interface, namespace, name string) (token string) {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	granted, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return granted.Status.Token
}

// whoAmI returns the user that the API server sees, or its error.
func whoAmI(t *testing.T, config *rest.Config) string {
	t.Helper()
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	return review.Status.UserInfo.Username
}

func TestKubeconfigLeadsThroughTheProxy(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	content, err := s.Proxy.Kubeconfig(s.Namespace)
	s.must(err)
	kubeconfig, err := clientcmd.NewClientConfigFromBytes(content)
	s.must(err)
	config, err := kubeconfig.ClientConfig()
	s.must(err)
	if namespace, _, err := kubeconfig.Namespace(); err != nil || namespace != s.Namespace {
		t.Errorf("namespace %s, %v", namespace, err)
	}
	_, err = s.configMaps(config).Create(t.Context(), configMap("x", nil), metav1.CreateOptions{})
	s.must(err)
	s.recorded("create", "x")
	s.must(s.Close())
	if _, err := s.configMaps(config).Get(t.Context(), "x", metav1.GetOptions{}); err == nil {
		t.Error("the proxy answers after it was closed")
	}
}
