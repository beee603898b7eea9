package operators_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// gallery is the folder that the paths of the operators start from.
const gallery = "../"

// TestMain lets all lanes run side by side, whatever the number of processors: mostly they wait.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(lanes)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// busy are operators that never become silent, left those that leave something when their samples are
// deleted: type and name, with the namespace for NS.
var (
	busy = []string{"defaulted-loop", "status-clock", "polls", "annotation-fight", "event-flood"}
	left = map[string]string{
		"orphan": "*v1.Service web", "no-finalizer": "*v1.ClusterRole site-NS-shop",
		"tenant-orphan": "*v1.ClusterRole tenant-acme", "namespace-leak": "*v1.ConfigMap announced-NS-web",
	}
)

// lanes is how many operators run at once, each lane in a namespace of its own.
const lanes = 6

// Without faults every operator of the gallery leads its samples to Ready, and cleans up, but for what its mistake
// is about.
func TestOperatorsWorkAsLongAsNothingGoesWrong(t *testing.T) {
	t.Parallel()
	lane := make([][]operators.Operator, lanes)
	for i, o := range operators.All() {
		if o.Wide {
			i = 0 // one after the other: they work for the same objects
		}
		lane[i%lanes] = append(lane[i%lanes], o)
	}
	for i := range lane {
		t.Run(fmt.Sprintf("lane %d", i), func(t *testing.T) {
			t.Parallel()
			env := localtest.Shared(t)
			for _, o := range lane[i] {
				if !t.Run(o.Name, func(t *testing.T) { play(t, env, o) }) {
					env = localtest.Shared(t) // a namespace without what the failed test left
				}
			}
		})
	}
}

// play creates the samples, starts the operator, and once more, and deletes the samples.
func play(t *testing.T, env *localtest.Env, o operators.Operator) {
	s := newStage(t, env, o)
	stop := s.start()
	s.create()
	localtest.Eventually(t, "Ready", s.ready)
	s.visible()
	s.quiet()
	stop()
	stop = s.start()
	defer stop()
	s.quiet()
	s.delete()
	localtest.Eventually(t, "all that belonged to the samples to be gone", s.gone)
}

// stage is a namespace with the samples of an operator.
type stage struct {
	*testing.T
	*localtest.Env
	operator operators.Operator
	client   client.Client
	samples  []*unstructured.Unstructured
	requests atomic.Int64
	ended    chan error // of the operator that runs

	// cache is that of the operator that runs, and others holds back what its watches show, but for those of the gallery's kinds.
	cache  client.Reader
	others *localtest.Gate
}

func newStage(t *testing.T, env *localtest.Env, o operators.Operator) *stage {
	t.Helper()
	s := &stage{T: t, Env: env, operator: o}
	for _, path := range o.CRDs {
		s.InstallCRDs(t, gallery+path)
	}
	var err error
	s.client, err = client.New(s.Config, client.Options{Scheme: operators.Scheme()})
	s.must(err)
	objects, err := project.ReadFile(gallery, o.Samples)
	s.must(err)
	for _, object := range objects {
		if object.GetKind() != "Tenant" {
			object.SetNamespace(s.Namespace)
		}
		s.samples = append(s.samples, object.Unstructured)
	}
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// start runs the operator until the function that is returned is called, and returns when it is at work. Its requests are counted.
func (s *stage) start() (stop func()) {
	s.Helper()
	s.others = &localtest.Gate{Of: func(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/apis/"+api.Version.Group+"/") }}
	config := *s.Config
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.URL.Path, "/leases/") {
				s.requests.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	options := s.operator.Options(s.Namespace)
	// On a busy machine, requests of seconds are nothing that went wrong: an operator that loses its Lease ends.
	options.LeaseDuration, options.RenewDeadline = ptr.To(6*time.Minute), ptr.To(5*time.Minute)
	var working <-chan struct{}
	options.Logger, working = untilWork()
	m, err := ctrl.NewManager(s.others.Config(&config), options)
	s.must(err)
	s.must(s.operator.Setup(m))
	s.cache = m.GetCache()
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	s.ended = ended
	go func() { ended <- m.Start(ctx) }()
	localtest.Eventually(s.T, "the operator to be at work", func(context.Context) error {
		s.runs()
		select {
		case <-working:
			return nil
		default:
			return errors.New("it starts")
		}
	})
	return func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the operator ended with %v", err)
		}
	}
}

// runs fails if the operator has ended by itself.
func (s *stage) runs() {
	s.Helper()
	select {
	case err := <-s.ended:
		s.Fatalf("the operator ended with %v", err)
	default:
	}
}

// untilWork returns a logger that closes a channel when a controller has seen what there is, and begins to work.
func untilWork() (logr.Logger, <-chan struct{}) {
	working := make(chan struct{})
	begun := sync.OnceFunc(func() { close(working) })
	return funcr.New(func(_, said string) {
		if strings.Contains(said, "Starting workers") {
			begun()
		}
	}, funcr.Options{}), working
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *stage) create() {
	s.Helper()
	for _, sample := range s.samples {
		s.must(s.client.Create(s.Context(), sample.DeepCopy()))
	}
}

// subject is the sample that the operator is for.
func (s *stage) subject() *unstructured.Unstructured { return s.samples[len(s.samples)-1].DeepCopy() }

func (s *stage) ready(ctx context.Context) error {
	s.runs()
	subject := s.subject()
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(subject), subject); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(subject.Object, "status", "conditions")
	for _, condition := range conditions {
		c := condition.(map[string]any)
		if (c["type"] == "Ready" || c["type"] == "Healthy") && c["status"] == "True" {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%v", subject.Object["status"]))
}

// visible looks at what the samples alone show of a mistake.
func (s *stage) visible() {
	s.Helper()
	switch s.operator.Name {
	case "wide-selector":
		localtest.Eventually(s.T, "the user's ConfigMap to be gone", func(ctx context.Context) error {
			return s.absent(ctx, &corev1.ConfigMap{}, s.samples[0])
		})
	case "adopts":
		secret := &corev1.Secret{}
		s.must(s.client.Get(s.Context(), client.ObjectKeyFromObject(s.samples[0]), secret))
		if len(secret.OwnerReferences) != 1 {
			s.Error("the user's Secret has no owner")
		}
	case "history-grows":
		localtest.Eventually(s.T, "more ConfigMaps", func(ctx context.Context) error {
			list := &corev1.ConfigMapList{}
			if err := s.client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil || len(list.Items) < 4 {
				return fmt.Errorf("only %d ConfigMaps: %w", len(list.Items), err)
			}
			return nil
		})
	}
}

func (s *stage) absent(ctx context.Context, kind, name client.Object) error {
	err := s.client.Get(ctx, client.ObjectKeyFromObject(name), kind)
	if err == nil {
		return fmt.Errorf("%s is there", name.GetName())
	}
	return client.IgnoreNotFound(err)
}

// quiet waits until the operator asks for nothing any more, or, where that is its mistake, sees that it does.
func (s *stage) quiet() {
	s.Helper()
	start := s.requests.Load()
	if slices.Contains(busy, s.operator.Name) {
		localtest.Eventually(s.T, "more and more requests", func(context.Context) error {
			if now := s.requests.Load(); now < start+20 {
				return fmt.Errorf("%d", now-start)
			}
			return nil
		})
		return
	}
	last, since := int64(-1), time.Now()
	localtest.Eventually(s.T, "silence", func(ctx context.Context) error {
		began := time.Now()
		if err := s.client.Get(ctx, client.ObjectKey{Name: s.Namespace}, &corev1.Namespace{}); err != nil {
			return err
		}
		enough := max(700*time.Millisecond, 20*time.Since(began)) // more where a request takes long
		if now := s.requests.Load(); now != last {
			last, since = now, time.Now()
		}
		if silent := time.Since(since); silent < enough {
			return fmt.Errorf("for %s", silent)
		}
		return nil
	})
}

// delete deletes the samples. The operator hears of that before it hears what becomes of their children: the other way
// round, it makes anew what the garbage collector has just removed. That goes as well, but for the claims of a StatefulSet
// that goes before Kubernetes has made it their owner.
func (s *stage) delete() {
	s.Helper()
	for _, sample := range slices.Backward(s.samples) {
		s.others.Shut()
		s.must(client.IgnoreNotFound(s.client.Delete(s.Context(), sample.DeepCopy())))
		localtest.Eventually(s.T, "the operator to know that the sample goes", func(ctx context.Context) error { return s.knows(ctx, sample) })
		s.others.Open()
		localtest.Eventually(s.T, "the sample to be gone", func(ctx context.Context) error { return s.absent(ctx, sample.DeepCopy(), sample) })
	}
}

// knows tells whether the operator sees that a sample of the gallery's kinds is gone, or is to go.
func (s *stage) knows(ctx context.Context, sample *unstructured.Unstructured) error {
	if sample.GroupVersionKind().Group != api.Version.Group {
		return nil
	}
	typed, err := s.client.Scheme().New(sample.GroupVersionKind())
	s.must(err)
	seen := typed.(client.Object)
	err = s.cache.Get(ctx, client.ObjectKeyFromObject(sample), seen)
	if err == nil && seen.GetDeletionTimestamp() == nil {
		return errors.New("it sees it as it was")
	}
	return client.IgnoreNotFound(err)
}

// gone finds nothing but what the operator is known to leave, which nobody owns, and removes that.
func (s *stage) gone(ctx context.Context) error {
	all, err := s.remains(ctx)
	if err != nil {
		return err
	}
	stays := strings.ReplaceAll(left[s.operator.Name], "NS", s.Namespace)
	for _, o := range all {
		if name := fmt.Sprintf("%T %s", o, o.GetName()); name != stays || len(o.GetOwnerReferences()) != 0 {
			return errors.New(name + " is there")
		}
	}
	if stays == "" {
		return nil
	}
	if len(all) == 0 {
		s.Fatalf("%s did not stay", stays)
	}
	return s.client.Delete(ctx, all[0])
}

// remains lists what there is of the kinds that operators make, in the namespace and beyond it.
func (s *stage) remains(ctx context.Context) ([]client.Object, error) {
	var all []client.Object
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &batchv1.JobList{}, &corev1.ServiceList{},
		&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{},
	} {
		if err := s.client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if o := item.(client.Object); o.GetName() != "kube-root-ca.crt" {
				all = append(all, o)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	beyond := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "site-" + s.Namespace + "-shop"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "announced-" + s.Namespace + "-web"}},
	}
	if s.operator.Wide {
		beyond = append(beyond, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "tenant-acme"}})
	}
	for _, o := range beyond {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			all = append(all, o)
		}
	}
	return all, nil
}
