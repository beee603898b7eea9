package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/local/localtest"
)

// runOperator runs a project's operator on this machine with the same identity as its pods, so that its own Role must be
// sufficient. It is stopped when the test ends.
func runOperator(t *testing.T, env *localtest.Env, dir, namespace, name string, args ...string) *output {
	t.Helper()
	work := t.TempDir()
	binary := filepath.Join(work, "operator")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", binary, ".")
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, text)
	}
	out := &output{}
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Dir, command.Stdout, command.Stderr = work, out, out
	command.Env = append(os.Environ(), "KUBECONFIG="+identity(t, env, work, namespace, name), "POD_NAMESPACE="+namespace)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is stopped by a signal
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // fails if it ended before
		<-ended
		if t.Failed() {
			t.Logf("the operator said\n%s", out)
		}
	})
	return out
}

// identity writes a kubeconfig with a token of a ServiceAccount.
func identity(t *testing.T, env *localtest.Env, work, namespace, name string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	answer, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, path := filepath.Join(work, "token"), filepath.Join(work, "kubeconfig")
	if err := os.WriteFile(token, []byte(answer.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: env.Config.Host, CertificateAuthorityData: env.Config.CAData}
	config.AuthInfos["it"] = &clientcmdapi.AuthInfo{TokenFile: token}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it", Namespace: namespace}
	config.CurrentContext = "it"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
