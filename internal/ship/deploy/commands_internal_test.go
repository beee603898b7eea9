package deploy

import (
	"strings"
	"testing"
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
