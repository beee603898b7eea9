package main

import (
	"strings"
	"testing"
	"time"
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
		"till":                          `unexpected argument "till"`,
		"--watches-file":                "--watches-file needs a value",
		"--reconcile-period often":      `--reconcile-period "often": time: invalid duration`,
		"--max-concurrent-reconciles 0": `--max-concurrent-reconciles "0": want 1 or more`,
	} {
		if _, _, err := translate(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
