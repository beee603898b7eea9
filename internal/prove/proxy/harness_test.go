package proxy_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/local/localtest"
)

// TestMain allows more parallel tests than there are processors, because tests mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// stand is a namespace of a real cluster with a proxy in front of it.
type stand struct {
	*testing.T
	*localtest.Env
	*proxy.Proxy
	script *fault.Script
}

// ownWorld means the stand's own namespace, in options.
const ownWorld = "."

func newStand(t *testing.T, faults ...fault.Fault) *stand {
	t.Helper()
	return standWith(t, proxy.Options{}, faults...)
}

func standWith(t *testing.T, options proxy.Options, faults ...fault.Fault) *stand {
	t.Helper()
	s := &stand{T: t, Env: localtest.Shared(t)}
	if options.Server == nil {
		options.Server = s.Env.Config
	}
	options.Observer = s.Env.Config
	if options.World.Namespace == ownWorld {
		options.World.Namespace = s.Namespace
	}
	var err error
	if s.script, err = fault.NewScript(faults...); err != nil {
		t.Fatal(err)
	}
	options.Script = s.script
	if s.Proxy, err = proxy.Start(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.must(s.Close()) })
	return s
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// configMaps returns a client for the ConfigMaps of the test's namespace. It uses the proxy unless a config is given.
func (s *stand) configMaps(configs ...*rest.Config) typedcorev1.ConfigMapInterface {
	s.Helper()
	config := s.Proxy.Config()
	if len(configs) > 0 {
		config = rest.CopyConfig(configs[0])
	}
	config.UserAgent = "plain/1"
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(s.Namespace)
}

// there reports whether a ConfigMap exists. The request does not go through the proxy.
func (s *stand) there(name string) bool {
	s.Helper()
	_, err := s.configMaps(s.Env.Config).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Error(err)
	}
	return err == nil
}

// recorded waits for the record of the last request about an object.
func (s *stand) recorded(verb, name string) requestlog.Request {
	s.Helper()
	var found *requestlog.Request
	localtest.Eventually(s, "the record of "+verb+" "+name, func(context.Context) error {
		for _, r := range s.Record().Requests() {
			if r.Verb == verb && r.Name == name {
				found = &r
			}
		}
		if found == nil {
			return fmt.Errorf("there are %v", s.Record().Requests())
		}
		return nil
	})
	return *found
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}
