package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"
	"github.com/operon-framework/operon/prove"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
	"github.com/operon-framework/operon/examples/site/api/v1alpha1"
)

var site = operontest.New(Site{}, v1.AddToScheme).CRDs("config/crd")

func sample(t *testing.T) *v1.Site {
	t.Helper()
	return operontest.Sample[*v1.Site](t, "config/samples/site.yaml")
}

// The child objects of the sample are as expected, without a cluster.
func TestChildren(t *testing.T) {
	t.Parallel()
	site.Golden(t, sample(t), "testdata/children.yaml")
}

// Each error in a site is reported, without a cluster.
func TestValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*v1.Site){
		"":                                   func(*v1.Site) {},
		"spec.host":                          func(s *v1.Site) { s.Spec.Host = "no host" },
		"spec.pages[../up.html]":             func(s *v1.Site) { s.Spec.Pages = map[string]string{"../up.html": ""} },
		"want the name of a file, such as a": func(s *v1.Site) { s.Spec.Pages = map[string]string{".hidden": ""} },
	} {
		s := sample(t)
		change(s)
		wrong := Site{}.Validate(t.Context(), s, &operon.Admission[*v1.Site]{})
		if text := fmt.Sprint(wrong.ToAggregate()); (want == "") != (len(wrong) == 0) || !strings.Contains(text, want) && want != "" {
			t.Errorf("wrong is %s, want %q", text, want)
		}
	}
}

// API servers default and validate sites with the webhooks and rules of the operator.
func TestAPIServersAsk(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	c, _ := start(t, env, parts()...)
	localtest.Eventually(t, "the API server to ask", func(ctx context.Context) error {
		s := sample(t)
		s.Namespace = env.Namespace
		if err := c.Create(ctx, s, client.DryRunAll); err != nil {
			return err
		}
		if s.Spec.Title != "www.example.com" || s.Spec.Replicas != 2 {
			return fmt.Errorf("defaults are missing in %+v", s.Spec)
		}
		return nil
	})
	for want, change := range map[string]func(*v1.Site){
		"spec.host: Invalid value":                  func(s *v1.Site) { s.Spec.Host = "no host" },
		"for namespaces with the label large-sites": func(s *v1.Site) { s.Spec.Replicas = 4 },
	} {
		localtest.Eventually(t, want, func(ctx context.Context) error {
			s := sample(t)
			s.Namespace = env.Namespace
			change(s)
			if err := c.Create(ctx, s, client.DryRunAll); err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("error %w", err)
			}
			return nil
		})
	}
	s := sample(t)
	s.Namespace, s.Spec.Protected = env.Namespace, true
	if err := answered(t, func(ctx context.Context) error { return c.Create(ctx, s) }); err != nil {
		t.Fatal(err)
	}
	drop := func(ctx context.Context) error { return c.Delete(ctx, s) }
	if err := answered(t, drop); err == nil || !strings.Contains(err.Error(), "it is protected") {
		t.Errorf("error %v", err)
	}
	change := func(content string) error {
		patch := client.RawPatch(types.MergePatchType, []byte(content))
		return answered(t, func(ctx context.Context) error { return c.Patch(ctx, s, patch) })
	}
	if err := change(`{"spec":{"host":"other.example.com"}}`); err == nil || !strings.Contains(err.Error(), "a site keeps its host") {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(change(`{"spec":{"protected":false}}`), answered(t, drop)); err != nil {
		t.Error(err)
	}
}

// answered returns the result of a request. It repeats a request whose webhook did not answer in time, as on a busy machine.
func answered(t *testing.T, request func(context.Context) error) (err error) {
	t.Helper()
	localtest.Eventually(t, "an answer of the webhook", func(ctx context.Context) error {
		if err = request(ctx); apierrors.IsInternalError(err) && strings.Contains(err.Error(), "deadline exceeded") {
			return err
		}
		return nil
	})
	return err
}

// start runs an operator on the machine of the API server until it is stopped or the test ends.
func start(t *testing.T, env *localtest.Env, parts ...operon.Option) (_ client.Client, stop func()) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "site-operator", env.Config, operon.Config{
			Namespace: env.Namespace, Webhooks: operon.Webhooks{BindAddress: "127.0.0.1:0"},
		}, parts...)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return c, stop
}

// Regardless of the injected faults, the operator converges to the same state.
func TestReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "site-operator", config, operon.Config{Namespace: namespace}, parts()...)
		},
	})
}
