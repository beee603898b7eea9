package bundletest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/internal/tools/up/mount"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// accountTarget is the directory of the ServiceAccount in a pod.
const accountTarget = "/var/run/secrets/kubernetes.io/serviceaccount"

// tokenSeconds is the lifetime of the operator's token, longer than any test.
const tokenSeconds = 24 * 60 * 60

// shownTail is the number of lines of the operator's log that are part of the reason of a failed stage.
const shownTail = 8

// operator is a process in place of the pods of the operator. Its methods can be called for nil, an operator in pods.
type operator struct {
	*process.Process
	log *process.Log
}

// startOperator starts the operator of a version as a process, if it has a command. It returns notes about what differs from its pods.
func (t *test) startOperator(ctx context.Context, v *version) ([]string, error) {
	t.stopOperator()
	if v.command == "" {
		return nil, nil
	}
	client, err := kubernetes.NewForConfig(t.config)
	if err != nil {
		return nil, err
	}
	deployment, err := client.AppsV1().Deployments(t.namespace).Get(ctx, v.CSV.Spec.Install.Spec.Deployments[0].Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := &podEnvironment{client: client, deployment: deployment}
	if err := pod.read(ctx); err != nil {
		return nil, err
	}
	env, mounts, err := t.credentials(ctx, client, deployment)
	if err != nil {
		return nil, err
	}
	log := process.NewLog(io.Discard, func(string) {})
	started, err := process.Start(process.Command{
		Path: "/bin/sh", Args: append([]string{"-c", withArguments(v.command), "sh"}, pod.args...),
		Env: append(append(usersEnvironment(), pod.env...), env...), Mounts: mounts, Log: log,
	})
	if err != nil {
		return nil, err
	}
	t.operator, t.pod = &operator{started, log}, pod
	return append([]string{"the Deployment is simulated, and the operator runs as a process: " + v.command}, pod.notes...), nil
}

// withArguments appends the arguments of the container to a shell command, unless the command has a place for them.
func withArguments(command string) string {
	if strings.Contains(command, "$@") {
		return command
	}
	return command + ` "$@"`
}

// usersEnvironment is the environment of this process without what leads to another cluster.
func usersEnvironment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "KUBERNETES_SERVICE_") && !strings.HasPrefix(variable, "KUBECONFIG=") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// credentials writes the credentials of the operator's ServiceAccount: a kubeconfig, and the files of a pod, if only the operator can see
// them in their place.
func (t *test) credentials(ctx context.Context, client kubernetes.Interface, deployment *appsv1.Deployment) (env []string, mounts []mount.Mount, err error) {
	name := accountOf(deployment.Spec.Template.Spec.ServiceAccountName)
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(t.namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("get a token for the operator's ServiceAccount: %w", err)
	}
	server := rest.CopyConfig(t.config)
	if err := rest.LoadTLSFiles(server); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(t.dir, t.namespace)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	for file, content := range map[string]string{"token": answer.Status.Token, "ca.crt": string(server.CAData), "namespace": t.namespace} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			return nil, nil, err
		}
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	config.Contexts["operator"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "operator", Namespace: t.namespace}
	config.CurrentContext = "operator"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return nil, nil, err
	}
	env = []string{"KUBECONFIG=" + kubeconfig}
	if mount.Possible(accountTarget) != nil { // the kubeconfig is enough for most operators
		return env, nil, nil
	}
	address, err := url.Parse(server.Host)
	if err != nil {
		return nil, nil, err
	}
	env = append(env, "KUBERNETES_SERVICE_HOST="+address.Hostname(), "KUBERNETES_SERVICE_PORT="+address.Port())
	return env, []mount.Mount{{Source: dir, Target: accountTarget}}, nil
}

// accountOf returns the name of a ServiceAccount, by default that of pods that name none.
func accountOf(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

// stopOperator stops the process, if one runs.
func (t *test) stopOperator() {
	if t.operator != nil {
		t.operator.Stop(timing.stopGrace)
		t.operator = nil
	}
}

// endedError is the error of an operator that ended by itself.
type endedError struct{ process.Exit }

func (e *endedError) Error() string { return fmt.Sprintf("the operator %s", e.Exit) }

// ended returns an error if the process has ended.
func (o *operator) ended() error {
	if o == nil {
		return nil
	}
	select {
	case <-o.Done():
		return &endedError{o.Exit()}
	default:
		return nil
	}
}

// tail returns the last lines of the operator's log, if the error may be its own.
func (o *operator) tail(err error) []string {
	var idle *idleError
	var ended *endedError
	if o == nil || !errors.As(err, &idle) && !errors.As(err, &ended) {
		return nil
	}
	lines := process.Crash(o.log.Tail(shownTail*4), shownTail)
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"the last lines of the operator's log:"}, lines...)
}
