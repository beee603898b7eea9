package deploy

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/up"
)

// Messages advise only commands and flags that the user has.
func TestAdvice(t *testing.T) {
	t.Parallel()
	manager := Commands{Deploy: "operon olm install", Undeploy: "operon olm uninstall", DeleteData: "--delete-crds", Logs: "the logs of the manager's pod"}
	for text, want := range map[string]string{
		userCommands.unattended(): "`operon deploy`, or remove the finalizers with --give-up-finalizers",
		userCommands.held():       "`operon logs` why the operator does not clear the finalizers, and run `operon undeploy` again; --give-up-finalizers removes them",
		manager.unattended():      "`operon olm install`",
		manager.held():            "see in the logs of the manager's pod why the operator does not clear the finalizers, and run `operon olm uninstall` again",
	} {
		if !strings.Contains(text, want) || strings.Contains(text, "olm") == strings.Contains(text, "--give-up-finalizers") {
			t.Errorf("got %s; want %s", text, want)
		}
	}
}

// The command that removes a deployment selects it, wherever it is typed.
func TestUndeployment(t *testing.T) {
	t.Parallel()
	manager := Commands{Deploy: "operon olm install", Undeploy: "operon olm uninstall"}
	for want, target := range map[string]Target{
		"operon undeploy": {Dir: "."},
		"operon undeploy ../web --context staging --main cmd/manager":          {Dir: "../web", Main: "cmd/manager", Where: up.Where{Context: "staging"}},
		"operon undeploy '/home/me/it'\\''s mine' --namespace web --cluster a": {Dir: "/home/me/it's mine", Namespace: "web", Where: up.Where{Name: "a"}},
		"operon olm uninstall --namespace olm --kubeconfig 'my config'":        {Dir: "/cache/olm", Namespace: "olm", Where: up.Where{Kubeconfig: "my config"}, Commands: manager},
	} {
		if got := target.undeployment(); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}
