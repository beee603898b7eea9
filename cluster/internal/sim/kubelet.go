package sim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubelet is the endpoint to which the API server sends requests for logs, exec, attach and port-forward. It responds to each
// with one sentence. One endpoint serves all nodes.
type kubelet struct {
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
}

// listen opens the endpoint on a free port of the loopback interface. Clients without a certificate of clientCA get no
// response.
func listen(serving tls.Certificate, clientCA *x509.CertPool, log *slog.Logger) (*kubelet, error) {
	listener, err := tls.Listen("tcp", net.JoinHostPort(nodeAddress, "0"), &tls.Config{
		Certificates: []tls.Certificate{serving},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clientCA,
		MinVersion:   tls.VersionTLS13,
	})
	if err != nil {
		return nil, fmt.Errorf("open the endpoint of the simulated nodes: %w", err)
	}
	server := &http.Server{
		Handler:           kubeletHandler(),
		ReadHeaderTimeout: timing.headerTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return &kubelet{listener: listener, server: server, log: log}, nil
}

func (k *kubelet) port() int { return k.listener.Addr().(*net.TCPAddr).Port }

// serve serves requests until ctx ends. It does not wait for pending responses then, because each is only one sentence.
func (k *kubelet) serve(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { k.server.Close() })()
	if err := k.server.Serve(k.listener); !errors.Is(err, http.ErrServerClosed) {
		k.log.Error("the endpoint of the simulated nodes ended; kubectl logs will not be answered", "error", err)
	}
}

func kubeletHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", refuseLogs)
	for path, what := range map[string]string{
		"/exec/":        "nothing to run a command in",
		"/run/":         "nothing to run a command in",
		"/attach/":      "nothing to attach to",
		"/portForward/": "no port to forward to",
	} {
		// A UID and a container may follow. No path may redirect to another one: the API server follows no redirects.
		mux.HandleFunc(path+"{namespace}/{pod}", refuseStream(what))
		mux.HandleFunc(path+"{namespace}/{pod}/{rest...}", refuseStream(what))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "this node is simulated and does not serve "+r.URL.Path, http.StatusNotFound)
	})
	return mux
}

// sentence states what a simulated pod lacks and what the user can do instead.
func sentence(r *http.Request, lacks string) string {
	return fmt.Sprintf("pod %s/%s is simulated: its containers never ran, so there is %s. "+
		"To see a program at work, run it on this machine against the cluster; \"operon up\" does that for an operator.",
		r.PathValue("namespace"), r.PathValue("pod"), lacks)
}

// refuseLogs responds with plain text: the API server uses the text of a 400 as its own message, and kubectl prints it
// unchanged. For a followed log, the sentence is the log itself: kubectl interprets any error as a container that has not
// started yet, and retries every second.
func refuseLogs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.URL.Query().Get("follow") != "true" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, sentence(r, "no log"))
		return
	}
	fmt.Fprintln(w, sentence(r, "no log"))
}

// refuseStream responds with a Status: clients that requested a stream receive the response unchanged and print the message of
// a Status.
func refuseStream(lacks string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure,
			Reason:   metav1.StatusReasonBadRequest,
			Code:     http.StatusBadRequest,
			Message:  sentence(r, lacks),
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		// If this fails, the client has disconnected.
		_ = json.NewEncoder(w).Encode(status)
	}
}
