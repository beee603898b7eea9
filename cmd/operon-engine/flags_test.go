package main

import (
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/engine/ansible"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		rest string
		want settings
	}{
		{"", "", settings{}},
		{"run --watches-file=/opt/helm/watches.yaml --leader-elect --leader-election-id=till", "--leader-elect=true",
			settings{watches: "/opt/helm/watches.yaml", name: "till"}},
		{"run --metrics-addr :8080 --enable-leader-election=false --reconcile-period 2m", "--metrics-bind-address=:8080 --leader-elect=false",
			settings{period: 2 * time.Minute}},
		{"--metrics-secure --metrics-require-rbac --zap-log-level=debug --zap-encoder console --zap-devel", "--metrics-secure=true --log-level=debug --log-format=text", settings{}},
		{"--namespace a,b --max-concurrent-reconciles=3 --suppress-override-values", "--namespace=a,b",
			settings{namespaced: true, concurrency: 3, hideOverrides: true}},
		{"--leader-elect-lease-duration=30s --leader-elect-renew-deadline 20s --leader-elect-resource-lock=leases --graceful-shutdown-timeout 5s", "",
			settings{leaseDuration: 30 * time.Second, renewDeadline: 20 * time.Second, ansible: ansible.Engine{GracefulShutdown: 5 * time.Second}}},
		{"--zap-log-level=2 --log-level=warn", "--log-level=debug --log-level=warn", settings{}},
		{"--zap-log-level=panic --graceful-shutdown-timeout 5s --shards=2", "--log-level=error --shards=2", settings{}},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			if test.want.watches == "" {
				test.want.watches = "./watches.yaml"
			}
			got, rest, err := translate(strings.Fields(test.args))
			if err != nil || got != test.want || strings.Join(rest, " ") != test.rest {
				t.Errorf("translated to %+v and %q, %v; want %+v and %q", got, rest, err, test.want, test.rest)
			}
		})
	}
}

func TestTranslateRejects(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"till":                            `unexpected argument "till"`,
		"--watches-file":                  "--watches-file needs a value",
		"--reconcile-period often":        `--reconcile-period "often": time: invalid duration`,
		"--graceful-shutdown-timeout -1s": `--graceful-shutdown-timeout "-1s": want a duration`,
		"--max-concurrent-reconciles 0":   `--max-concurrent-reconciles "0": want 1 or more`,
	} {
		if _, _, err := translate(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// In a cluster, the defaults are those of Operator SDK, whose manifests rely on them. It is not parallel, because it changes the environment.
func TestDefaultsInACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	for args, want := range map[string]string{
		"":                               "--health-probe-bind-address=:8081 --metrics-bind-address=:8080",
		"--metrics-addr=0":               "--health-probe-bind-address=:8081",
		"--health-probe-bind-address=:1": "--metrics-bind-address=:8080",
		"--metrics-bind-address=:1 --metrics-secure --health-probe-bind-address=0": "",
	} {
		s, rest, err := translate(strings.Fields(args))
		if got := strings.Join(addresses(rest, true), " "); err != nil || got != want {
			t.Errorf("with %q, the addresses are %s, %v; want %s", args, got, err, want)
		}
		if s.ansible.GracefulShutdown != shutdownInCluster {
			t.Errorf("runs may continue for %s", s.ansible.GracefulShutdown)
		}
	}
	if got, want := strings.Join(addresses(nil, false), " "), "--health-probe-bind-address=:6789 --metrics-bind-address=:8443"; got != want {
		t.Errorf("the addresses of the Ansible operator are %s, want %s", got, want)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if got := addresses(nil, true); len(got) > 0 {
		t.Errorf("outside of a cluster, the addresses are %s", got)
	}
}

// The manager waits for runs.
func TestManagerOptions(t *testing.T) {
	t.Parallel()
	s, _, err := translate([]string{"--graceful-shutdown-timeout=1m", "--leader-elect-lease-duration=40s"})
	var options ctrl.Options
	s.manager(&options)
	if err != nil || *options.LeaseDuration != 40*time.Second || options.RenewDeadline != nil || *options.GracefulShutdownTimeout != 90*time.Second {
		t.Errorf("the options are %+v, %v", options, err)
	}
}
