package boxtest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// asOperator is the first argument of a test binary that runs an operator instead of tests.
const asOperator = "as-operator"

// Main is the TestMain of packages whose tests call StartMain. In the process that StartMain starts, it runs an operator.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asOperator {
		os.Args = append([]string{"box-operator"}, os.Args[2:]...)
		operon.Main("box-operator", operon.API(AddToScheme), operon.Manage(ComposeFunc(Copies)))
		return
	}
	os.Exit(m.Run())
}

// StartMain runs an operator with Main in a separate process, and returns a function that stops it gracefully.
func (w *Fixture) StartMain(environment []string, arguments ...string) (stop func()) {
	w.Helper()
	arguments = append([]string{asOperator, "--kubeconfig=" + w.Kubeconfig, "--namespace=" + w.Namespace, "--metrics-bind-address=0", "--leader-elect=false"}, arguments...)
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	w.Must(command.Start())
	stop = sync.OnceFunc(func() {
		w.Must(command.Process.Signal(syscall.SIGTERM))
		defer time.AfterFunc(localtest.Patience, func() { _ = command.Process.Kill() }).Stop() // it may already have ended
		if err := command.Wait(); err != nil {
			w.Errorf("the operator ended with %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}
