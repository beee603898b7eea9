package patient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/patient"
	"github.com/operon-framework/operon/local/localtest"
)

// api is an API server whose first response fails. It counts attempts, and those that had an effect.
type api struct {
	*httptest.Server
	mu                sync.Mutex
	attempts, effects int
	bodies            []string
}

// trouble is what the first attempt results in. effect executes the request.
type trouble func(w http.ResponseWriter, r *http.Request, effect func())

// newAPI starts an API server with trouble until an attempt. Later attempts succeed.
func newAPI(t *testing.T, lasts int, with trouble) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.mu.Lock()
		a.attempts++
		attempt := a.attempts
		a.bodies = append(a.bodies, string(body))
		a.mu.Unlock()
		effect := func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.effects++
		}
		if attempt <= lasts {
			with(w, r, effect)
			return
		}
		effect()
		fmt.Fprint(w, "done")
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) seen() (attempts, effects int, bodies []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts, a.effects, a.bodies
}

// send sends a request with patience and returns the status code and the body of the response.
func send(ctx context.Context, config *rest.Config, method, path, body string) (int, string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, method, config.Host+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// answer returns the trouble of a response.
func answer(code int, message string) trouble {
	return func(w http.ResponseWriter, _ *http.Request, _ func()) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":%d}`, message, code)
	}
}

// reset closes the connection without a response.
func reset(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	_ = connection.Close()
}

// troubles are failures that pass, with the number of their effects.
var troubles = map[string]struct {
	of      trouble
	effects int
	// refused means that the API server reports that it has not executed the request.
	refused bool
}{
	"no leader of etcd":        {of: answer(500, "leader changed")},
	"slow etcd":                {of: answer(500, "etcdserver: request timed out")},
	"no connection to etcd":    {of: answer(500, "rpc error: code = Unavailable desc = transport is closing")},
	"slow storage":             {of: answer(500, "context deadline exceeded")},
	"busy":                     {of: answer(429, "too many requests"), refused: true},
	"shutting down":            {of: answer(503, "apiserver is shutting down")},
	"no gateway":               {of: answer(502, "bad gateway")},
	"timeout of a filter":      {of: answer(504, "Timeout: request did not complete within requested timeout")},
	"reset before the effect":  {of: func(w http.ResponseWriter, _ *http.Request, _ func()) { reset(w) }},
	"reset after the effect":   {of: func(w http.ResponseWriter, _ *http.Request, effect func()) { effect(); reset(w) }, effects: 1},
	"response that breaks off": {of: breaks, effects: 1},
	"no response":              {of: func(_ http.ResponseWriter, r *http.Request, _ func()) { <-r.Context().Done() }},
}

func breaks(w http.ResponseWriter, _ *http.Request, effect func()) {
	effect()
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, "do")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

var requests = map[string]struct {
	method, path string
	twice        bool
}{
	"get":    {"GET", "/api/v1/namespaces/n/configmaps/c", true},
	"list":   {"GET", "/api/v1/configmaps?watch=false", true},
	"update": {"PUT", "/api/v1/namespaces/n/configmaps/c", true},
	"patch":  {"PATCH", "/api/v1/namespaces/n/configmaps/c", true},
	"delete": {"DELETE", "/api/v1/namespaces/n/configmaps/c", true},
	"token":  {"POST", "/api/v1/namespaces/n/serviceaccounts/a/token", true},
	"rules":  {"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", true},
	"access": {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
	"create": {"POST", "/api/v1/namespaces/n/configmaps", false},
}

// A request that may run twice survives each temporary failure. A creation is repeated only if it was refused.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for verb, request := range requests {
		for name, trouble := range troubles {
			if name == "no response" && !request.twice {
				continue // TestCanceled waits for one
			}
			t.Run(verb+", "+name, func(t *testing.T) {
				t.Parallel()
				a := newAPI(t, 1, trouble.of)
				budget := patient.Session
				if name == "no response" {
					budget = time.Second
				}
				code, said, err := send(t.Context(), patient.Config(&rest.Config{Host: a.URL}, budget), request.method, request.path, "the body")
				attempts, effects, bodies := a.seen()
				if !request.twice && !trouble.refused {
					if attempts != 1 || effects != trouble.effects || said == "done" {
						t.Errorf("%d attempts with %d effects: %d %q, %v", attempts, effects, code, said, err)
					}
					return
				}
				if err != nil || code != http.StatusOK || said != "done" || attempts != 2 || effects != trouble.effects+1 {
					t.Errorf("%d attempts with %d effects: %d %q, %v", attempts, effects, code, said, err)
				}
				for i, body := range bodies {
					if body != "the body" {
						t.Errorf("the body of attempt %d is %q", i+1, body)
					}
				}
			})
		}
	}
}

// Answers are not repeated, and neither are failures that stay.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]trouble{
		"wrong type":    answer(500, "failed to create typed patch object: context deadline exceeded"),
		"too large":     answer(500, "etcdserver: request is too large"),
		"no space":      answer(500, "etcdserver: mvcc: database space exceeded"),
		"another error": answer(500, "failed calling webhook"),
		"conflict":      answer(409, "etcdserver: leader changed"),
		"forbidden":     answer(403, "forbidden"),
		"not found":     answer(404, "not found"),
	} {
		for verb, request := range requests {
			t.Run(verb+", "+name, func(t *testing.T) {
				t.Parallel()
				a := newAPI(t, 1, of)
				code, said, err := send(t.Context(), patient.Config(&rest.Config{Host: a.URL}, patient.Session), request.method, request.path, "")
				if attempts, _, _ := a.seen(); attempts != 1 || err != nil || code < 400 || !strings.Contains(said, `"Failure"`) {
					t.Errorf("%d attempts: %d %q, %v", attempts, code, said, err)
				}
			})
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// counted counts the attempts of a connection, also those that do not reach a server.
func counted(config *rest.Config) (*rest.Config, *atomic.Int32) {
	config, count := rest.CopyConfig(config), &atomic.Int32{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			count.Add(1)
			return next.RoundTrip(r)
		})
	})
	return config, count
}

// A certificate that does not match stays so, and so does a server without TLS.
func TestCertificate(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := newAPI(t, 0, nil)
	for _, host := range []string{secure.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		config, count := counted(&rest.Config{Host: host})
		if _, _, err := send(t.Context(), patient.Config(config, patient.Session), "GET", "/", ""); err == nil || count.Load() != 1 {
			t.Errorf("%s: %d attempts, %v", host, count.Load(), err)
		}
	}
}

// A wrong address fails at once.
func TestWrongAddress(t *testing.T) {
	t.Parallel()
	a := newAPI(t, 0, nil)
	a.Close()
	unknown := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "unknown", IsNotFound: true}}
	}
	for host, dial := range map[string]func(context.Context, string, string) (net.Conn, error){a.URL: nil, "http://unknown": unknown} {
		config, count := counted(&rest.Config{Host: host, Dial: dial})
		_, _, err := send(t.Context(), patient.Config(config, patient.Session), "GET", "/", "")
		var network *net.OpError
		if !errors.As(err, &network) || count.Load() != 1 {
			t.Errorf("%s: %d attempts, %v", host, count.Load(), err)
		}
	}
}

// An API server that has answered before is expected to come back, also by a creation, and by other clients of the connection.
func TestRestart(t *testing.T) {
	t.Parallel()
	a := newAPI(t, 0, nil)
	config, count := counted(&rest.Config{Host: a.URL})
	config = patient.Config(config, patient.Session)
	if _, _, err := send(t.Context(), config, "GET", "/", ""); err != nil {
		t.Fatal(err)
	}
	address := a.Listener.Addr().String()
	a.Close()
	before := count.Load()
	ended := make(chan error, 1)
	go func() {
		_, _, err := send(t.Context(), rest.CopyConfig(config), "POST", "/api/v1/namespaces", "")
		ended <- err
	}()
	localtest.Eventually(t, "a second attempt", func(context.Context) error {
		if attempts := count.Load() - before; attempts < 2 {
			return fmt.Errorf("there are %d", attempts)
		}
		return nil
	})
	var listener net.Listener
	localtest.Eventually(t, "the port", func(context.Context) (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	second := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = second.Listener.Close()
	second.Listener = listener
	second.Start()
	t.Cleanup(second.Close)
	if err := localtest.Receive(t, "the response", ended); err != nil {
		t.Error(err)
	}
}

// A request ends with its context: while it is sent, and while it waits for the next attempt.
func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		ctx, cancel := context.WithCancel(t.Context())
		a := newAPI(t, 100, func(_ http.ResponseWriter, r *http.Request, _ func()) {
			cancel()
			<-r.Context().Done()
		})
		_, _, err := send(ctx, patient.Config(&rest.Config{Host: a.URL}, time.Hour), method, "/api/v1/namespaces", "")
		if attempts, _, _ := a.seen(); attempts != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("a %s that is sent: %d attempts, %v", method, attempts, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	a := newAPI(t, 100, func(w http.ResponseWriter, r *http.Request, effect func()) {
		w.Header().Set("Retry-After", "3600")
		answer(503, "apiserver is shutting down")(w, r, effect)
	})
	_, _, err := send(ctx, patient.Config(&rest.Config{Host: a.URL}, time.Hour), "GET", "/", "")
	if attempts, _, _ := a.seen(); attempts > 1 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that waits: %d attempts, %v", attempts, err)
	}
}

// When the budget is over, client-go does not begin again.
func TestBudget(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter, r *http.Request, effect func()) {
		w.Header().Set("Retry-After", "1")
		answer(429, "too many requests")(w, r, effect)
	}
	for name, test := range map[string]struct {
		of   trouble
		want func(error) bool
	}{
		"busy":                     {busy, apierrors.IsTooManyRequests},
		"no leader":                {answer(500, "etcdserver: no leader"), func(err error) bool { return strings.Contains(err.Error(), "no leader") }},
		"reset":                    {troubles["reset before the effect"].of, apierrors.IsServiceUnavailable},
		"no response":              {troubles["no response"].of, apierrors.IsServiceUnavailable},
		"response that breaks off": {breaks, apierrors.IsServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, 1000, test.of)
			client := kubernetes.NewForConfigOrDie(patient.Config(&rest.Config{Host: a.URL}, 200*time.Millisecond))
			_, err := client.CoreV1().ConfigMaps("n").Get(t.Context(), "c", metav1.GetOptions{})
			if attempts, _, _ := a.seen(); attempts < 2 || attempts > 9 || err == nil || !test.want(err) {
				t.Errorf("%d attempts, %v", attempts, err)
			}
		})
	}
}

// Responses that continue are passed on as they arrive, however they are requested, and are not repeated.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/api/v1/configmaps?watch=true", "/api/v1/configmaps?watch=1", "/api/v1/watch/configmaps",
		"/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Dc", "/api/v1/namespaces/n/pods/p/log?follow=true",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			read := make(chan struct{})
			a := newAPI(t, 1, func(w http.ResponseWriter, r *http.Request, _ func()) {
				fmt.Fprintln(w, "first")
				w.(http.Flusher).Flush()
				select {
				case <-read:
				case <-r.Context().Done():
				}
			})
			client, err := rest.HTTPClientFor(patient.Config(&rest.Config{Host: a.URL}, patient.Session))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Get(a.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			first := make([]byte, 6)
			if _, err := io.ReadFull(response.Body, first); err != nil || !bytes.Equal(first, []byte("first\n")) {
				t.Fatalf("%q, %v", first, err)
			}
			close(read)
			if _, err := io.ReadAll(response.Body); err != nil {
				t.Error(err)
			}
			a = newAPI(t, 1, answer(503, "apiserver is shutting down"))
			code, _, err := send(t.Context(), patient.Config(&rest.Config{Host: a.URL}, patient.Session), "GET", path, "")
			if attempts, _, _ := a.seen(); attempts != 1 || code != http.StatusServiceUnavailable || err != nil {
				t.Errorf("%d attempts: %d, %v", attempts, code, err)
			}
		})
	}
}
