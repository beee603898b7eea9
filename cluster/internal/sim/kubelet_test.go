package sim_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
)

// simulatedPod creates a ready pod in a new namespace, and returns the beginning of all responses about it.
func simulatedPod(t *testing.T) (namespace, answer string) {
	t.Helper()
	simulate(t)
	namespace = newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	awaitPod(t, namespace, "ready", ready)
	return namespace, fmt.Sprintf("pod %s/web is simulated: its containers never ran, so there is ", namespace)
}

func TestLogsAnswerWithASentence(t *testing.T) {
	t.Parallel()
	namespace, answer := simulatedPod(t)
	_, err := plane.client.CoreV1().Pods(namespace).GetLogs("web", &corev1.PodLogOptions{}).Stream(t.Context())
	if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), answer+"no log. To see ") {
		t.Errorf("error %v: want a bad request that begins with %q", err, answer)
	}
}

// A followed log is the sentence: kubectl logs --follow would retry forever after an error.
func TestFollowedLogIsTheSentence(t *testing.T) {
	t.Parallel()
	namespace, answer := simulatedPod(t)
	stream, err := plane.client.CoreV1().Pods(namespace).GetLogs("web", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	log, err := io.ReadAll(stream)
	if err != nil || !strings.HasPrefix(string(log), answer) || strings.Count(string(log), "\n") != 1 {
		t.Errorf("log %q, error %v: want one line that begins with %q", log, err, answer)
	}
}

func TestExecAndAttachAnswerWithASentence(t *testing.T) {
	t.Parallel()
	namespace, answer := simulatedPod(t)
	for subresource, options := range map[string]any{
		"exec":   &corev1.PodExecOptions{Command: []string{"ls"}, Stdout: true},
		"attach": &corev1.PodAttachOptions{Stdout: true},
	} {
		request := subresourceRequest(namespace, subresource)
		switch options := options.(type) {
		case *corev1.PodExecOptions:
			request.VersionedParams(options, scheme.ParameterCodec)
		case *corev1.PodAttachOptions:
			request.VersionedParams(options, scheme.ParameterCodec)
		}
		for protocol, newExecutor := range map[string]func() (remotecommand.Executor, error){
			"SPDY": func() (remotecommand.Executor, error) {
				return remotecommand.NewSPDYExecutor(plane.admin, http.MethodPost, request.URL())
			},
			"WebSocket": func() (remotecommand.Executor, error) {
				return remotecommand.NewWebSocketExecutor(plane.admin, http.MethodGet, request.URL().String())
			},
		} {
			executor, err := newExecutor()
			if err != nil {
				t.Fatal(err)
			}
			err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
			if err == nil || !strings.Contains(err.Error(), answer+"nothing to ") {
				t.Errorf("%s over %s: error %v: want %q in it", subresource, protocol, err, answer)
			}
		}
	}
}

func subresourceRequest(namespace, subresource string) *rest.Request {
	return plane.client.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(namespace).Name("web").SubResource(subresource)
}

func TestPortForwardAnswersWithASentence(t *testing.T) {
	t.Parallel()
	namespace, answer := simulatedPod(t)
	transport, upgrader, err := spdy.RoundTripperFor(plane.admin)
	if err != nil {
		t.Fatal(err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, subresourceRequest(namespace, "portforward").URL())
	_, _, err = dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err == nil || !strings.Contains(err.Error(), answer+"no port to forward to") {
		t.Errorf("error %v: want %q in it", err, answer)
	}
}

// endpoint returns the address at which the API server reaches the simulated nodes.
func endpoint(ctx context.Context, t *testing.T) string {
	t.Helper()
	node, err := plane.client.CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", node.Status.Addresses[0].Address, node.Status.DaemonEndpoints.KubeletEndpoint.Port)
}

func TestEndpointWantsAClientCertificate(t *testing.T) {
	t.Parallel()
	simulate(t)
	url := "https://" + endpoint(t.Context(), t) + "/healthz"
	known, err := tls.X509KeyPair(plane.admin.CertData, plane.admin.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := fetch(t, url, known); err != nil || body != "ok" {
		t.Errorf("with a certificate: %q, error %v: want ok", body, err)
	}
	if body, err := fetch(t, url); err == nil {
		t.Errorf("without a certificate: %q: want an error", body)
	}
}

func fetch(t *testing.T, url string, certificates ...tls.Certificate) (string, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: plane.config.ClientCA, Certificates: certificates}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	return body.String(), err
}
