package project_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

func TestFlagsAreThoseThatTheOperatorUnderstands(t *testing.T) {
	t.Parallel()
	const operon, kubebuilder = "github.com/operon-framework/operon", "sigs.k8s.io/controller-runtime"
	for name, test := range map[string]struct {
		requires, source string
		want             string
	}{
		"Operon":         {operon, "", "--metrics-bind-address=127.0.0.1:1 --health-probe-bind-address=127.0.0.1:2 --leader-elect=false"},
		"kubebuilder v3": {kubebuilder, `_, _ = "metrics-bind-address", "leader-elect"`, "--metrics-bind-address=127.0.0.1:1 --leader-elect=false"},
		"kubebuilder v4": {kubebuilder, `_, _ = "metrics-bind-address", "metrics-secure"`, "--metrics-bind-address=127.0.0.1:1 --metrics-secure=false"},
		"kubebuilder v2": {kubebuilder, `_, _ = "metrics-addr", "enable-leader-election"`, "--metrics-addr=127.0.0.1:1 --enable-leader-election=false"},
		"another":        {"example.com/other", "", ""},
	} {
		p := read(t, files{
			"go.mod":  "module example.com/web\n\ngo 1.26\n\nrequire " + test.requires + " v0.1.0\n",
			"main.go": "package main\n\nfunc main() { " + test.source + " }\n",
		})
		got := p.Flags(project.Placing{Metrics: "127.0.0.1:1", Health: "127.0.0.1:2"})
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFlagsForWebhooks(t *testing.T) {
	t.Parallel()
	for framework, want := range map[string]string{
		"github.com/operon-framework/operon": "--webhook-bind-address=127.0.0.1:3",
		"sigs.k8s.io/controller-runtime":     "",
	} {
		p := read(t, files{
			"go.mod":  "module example.com/web\n\ngo 1.26\n\nrequire " + framework + " v0.1.0\n",
			"main.go": "package main\n\nfunc main() { _ = \"webhook-bind-address\" }\n",
		})
		got := p.Flags(project.Placing{Webhooks: "127.0.0.1:3"})
		if has := strings.Contains(strings.Join(got, " "), "--webhook-bind-address=127.0.0.1:3"); has != (want != "") {
			t.Errorf("%s: %s", framework, got)
		}
	}
}

func TestFlagsForAnElection(t *testing.T) {
	t.Parallel()
	p := read(t, files{"main.go": "package main\n\nfunc main() { _ = \"leader-elect\" }\n"})
	got := p.Flags(project.Placing{Metrics: "0", Health: "0", Elect: true})
	if want := "--metrics-bind-address=0 --health-probe-bind-address=0 --leader-elect=true"; strings.Join(got, " ") != want {
		t.Errorf("%s", got)
	}
}

func TestFlagsOfAnAPIServer(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`import _ "github.com/operon-framework/operon/aggregated"`: "--webhook-bind-address=127.0.0.1:3 --webhook-service=web --webhook-service-port=3",
		"": "--webhook-bind-address=127.0.0.1:3",
	} {
		p := read(t, files{
			"go.mod":  "module example.com/web\n\ngo 1.26\n\nrequire github.com/operon-framework/operon v0.1.0\n",
			"main.go": "package main\n\n" + source + "\n\nfunc main() {}\n",
		})
		got := strings.Join(p.Flags(project.Placing{Webhooks: "127.0.0.1:3", Service: "web"}), " ")
		if before, _, _ := strings.Cut(got, " --metrics"); before != want {
			t.Errorf("%q: %s", source, got)
		}
	}
}
