package instance

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

// serveControl serves requests to this process on a socket that only its user can open.
func (s *server) serveControl(ctx context.Context) error {
	if err := os.RemoveAll(s.folder.control()); err != nil {
		return err
	}
	listener, err := net.Listen("unix", s.folder.control())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /reset", s.activity.count(http.HandlerFunc(s.handleReset)))
	mux.HandleFunc("POST /ping", s.handlePing)
	mux.Handle("POST /use", s.activity.count(http.HandlerFunc(lastAsAsked)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: timing.startDeadline} // other users cannot connect
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The control socket died")
		}
	}()
	return nil
}

// handlePing responds to clients that want to use the cluster. A cluster that is stopping because it was idle does not respond,
// like one that was killed.
func (s *server) handlePing(http.ResponseWriter, *http.Request) {
	if !s.activity.renew() {
		panic(http.ErrAbortHandler)
	}
}

func (s *server) handleReset(w http.ResponseWriter, r *http.Request) {
	err := s.resetter.AwaitFirst(r.Context())
	ctx, cancel := context.WithTimeout(r.Context(), timing.resetDeadline)
	defer cancel()
	if err == nil {
		err = s.resetter.Reset(ctx)
	}
	if err == nil {
		_, err = s.nodes.Restore(ctx) // the first start on a data directory may have had fewer nodes
	}
	if err == nil {
		err = s.containers.publishImages(ctx) // and another port of the registry
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// lastAsAsked sends the response headers at once, and ends when the client disconnects.
func lastAsAsked(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		return // that has happened
	}
	<-r.Context().Done()
}

// Reset restores the first state of a running cluster.
func Reset(ctx context.Context, name string) error {
	if _, err := StatusRunning(name); err != nil {
		return err
	}
	f, err := openFolder(name)
	if err != nil {
		return err
	}
	return order(ctx, f.control(), "/reset")
}

// answers reports whether the process of the cluster responds to requests. A process that is being killed holds its lock a
// moment longer.
func (f folder) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timing.pingTimeout)
	defer cancel()
	unheard := new(url.Error)
	return !errors.As(order(ctx, f.control(), "/ping"), &unheard)
}

// use makes a cluster count as used from its return until ctx or this process ends.
func (f folder) use(ctx context.Context) error {
	response, err := send(ctx, f.control(), "/use")
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return nil // the connection stays open because the body is not closed
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil // a cluster that was started by an older version does not count this as use
	}
	return refusal(response)
}

func order(ctx context.Context, socket, path string) error {
	response, err := send(ctx, socket, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return refusal(response)
}

func refusal(response *http.Response) error {
	message, err := io.ReadAll(response.Body)
	return errors.Join(errors.New(strings.TrimSpace(string(message))), err)
}

// send sends a request to the process of a cluster. Closing the body of the response closes the connection.
func send(ctx context.Context, socket, path string) (*http.Response, error) {
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cluster"+path, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(request)
}
