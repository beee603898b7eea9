package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

// serveControl takes orders for this process on a socket that only its user can open.
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
	server := &http.Server{Handler: mux, ReadHeaderTimeout: timing.startDeadline} // others than the user cannot connect
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The control socket died")
		}
	}()
	return nil
}

// handlePing answers who wants to use the cluster. One that ends, as nobody used it, does not
// answer, as one that was killed.
func (s *server) handlePing(http.ResponseWriter, *http.Request) {
	if !s.activity.renew() {
		panic(http.ErrAbortHandler)
	}
}

func (s *server) handleReset(w http.ResponseWriter, r *http.Request) {
	if err := s.resetter.AwaitFirst(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timing.resetDeadline)
	defer cancel()
	if err := s.resetter.Reset(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// lastAsAsked answers at once, and lasts until who asked goes away.
func lastAsAsked(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		return // that has happened
	}
	<-r.Context().Done()
}

// Reset empties a running cluster to its first state.
func Reset(ctx context.Context, name string) error {
	facts, err := Status(name)
	if err != nil {
		return err
	}
	if facts.State != Running {
		return fmt.Errorf("cluster %q is not running; start it with `operon cluster up --cluster %s`", name, name)
	}
	f, err := openFolder(name)
	if err != nil {
		return err
	}
	return order(ctx, f.control(), "/reset")
}

// answers reports whether the cluster's process takes orders. One that is being killed holds its lock a
// moment longer.
func (f folder) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timing.pingTimeout)
	defer cancel()
	unheard := new(url.Error)
	return !errors.As(order(ctx, f.control(), "/ping"), &unheard)
}

// use counts as use of a cluster from its return until ctx ends, or this process.
func (f folder) use(ctx context.Context) error {
	response, err := send(ctx, f.control(), "/use")
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return nil // the connection lasts, as nobody closes the body
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil // a cluster that an older version started counts less
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

// send asks the process of a cluster. The connection ends with the body of the response.
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
