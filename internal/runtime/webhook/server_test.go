package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/operon-framework/operon/internal/core/rotation"
	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// listening returns a server that answers everything, with a client that sends requests as API servers do to
// a Service: by HTTP/1.1, on connections that are kept open.
func listening(t *testing.T) (s *Server, ask func() (reused, closes bool), stop func()) {
	t.Helper()
	local := issuer{certificate.Issuer{Times: rotation.DefaultTimes, Hosts: certificate.Hosts{"127.0.0.1"}, Name: "op"}}
	kept, err := local.carryOut(rotation.Make, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s = &Server{Config: Config{Address: "127.0.0.1:0"}, routes: http.NewServeMux(), ending: ending{drains: make(chan struct{})}}
	s.routes.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	s.leaf.Store(kept.leaf)
	stop, err = s.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(kept.signing.Cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}} // of HTTP/1.1, because it has its own configuration
	t.Cleanup(transport.CloseIdleConnections)
	return s, func() (reused, closes bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused = got.Reused }})
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.place.url("/"), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		return reused, answer.Close || answer.Body.Close() != nil
	}, stop
}

// Clients keep connections open, and the last response on a connection announces that it closes: a request that is in flight
// on a connection while it is closed is lost.
func TestConnectionsCloseWithAnAnswer(t *testing.T) {
	t.Parallel()
	s, ask, stop := listening(t)
	for i, want := range []struct{ reused, closes bool }{{false, false}, {true, false}, {true, true}, {false, true}} {
		if i == 2 {
			s.Leave()
		}
		if reused, closes := ask(); reused != want.reused || closes != want.closes {
			t.Errorf("request %d: on a connection that was there: %v, which closes: %v; want %+v", i, reused, closes, want)
		}
	}
	stop()
}

// The client closes unused connections, never the server: on a connection that was opened and
// has carried no request yet, the timeout for the header of the first one runs.
func TestConnectionsAreClosedByWhoOpenedThem(t *testing.T) {
	t.Parallel()
	if theirs := utilnet.SetTransportDefaults(&http.Transport{}).IdleConnTimeout; timing.headerTimeout <= theirs || theirs == 0 {
		t.Errorf("the server closes a connection after %s, API servers do after %s", timing.headerTimeout, theirs)
	}
}

// A server lingers from the moment when Leave was called, not from the moment when everything else had ended.
func TestLingeringBeginsWithLeave(t *testing.T) {
	t.Parallel()
	s, _, stop := listening(t)
	s.Linger = time.Hour
	long := time.Now().Add(-s.Linger)
	s.left.Store(&long)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop()
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("it lingers for longer than it was told")
	}
}

// A request that lasts, such as a watch, learns of the end before the server waits for it, so that it is not interrupted.
func TestWatchesAreNotInterrupted(t *testing.T) {
	t.Parallel()
	s, ask, stop := listening(t)
	ended := make(chan struct{})
	s.routes.HandleFunc("POST /", func(_ http.ResponseWriter, r *http.Request) {
		go func() {
			defer close(ended)
			stop()
		}()
		select {
		case <-s.drains:
		case <-r.Context().Done():
		}
	})
	s.Leave()
	ask()
	<-ended
}

func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := &Server{Config: Config{Address: taken.Addr().String()}, foreign: true}
	_, err = s.Start(t.Context())
	for _, want := range []string{taken.Addr().String(), "--webhook-bind-address", "address already in use"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}

// Errors of a directory of certificates are reported, with what to check; an expired certificate is
// served in the meantime, because there is no better one.
func TestFoldersThatAreNotRight(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good, err := testIssuer.carryOut(rotation.Make, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := good.data()
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]struct {
		name, content string
		later         time.Duration
		host          string
	}{
		"tls.crt: no such file":     {name: keyLeaf},
		"do not match":              {name: keyLeafKey, content: "nonsense"},
		"ca.crt: there is no certi": {name: keyBundle, content: "nonsense"},
		"not another.here.svc":      {host: "another.here.svc"},
		"tls.crt has expired at":    {later: testIssuer.Times.Leaf + time.Hour},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			folder := &files{folder: t.TempDir(), hosts: testIssuer.Hosts}
			if change.host != "" {
				folder.hosts = certificate.Hosts{change.host}
			}
			for _, name := range []string{keyLeaf, keyLeafKey, keyBundle} {
				content := string(data[name])
				if name == change.name {
					content = change.content
				}
				if content == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder.folder, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, _, err := folder.current(context.Background(), nil, now.Add(change.later))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), folder.folder) {
				t.Errorf("error %v, want one with %q and the directory", err, want)
			}
			if served := found.leaf != nil; served != (change.later > 0) {
				t.Errorf("served is %v", found.leaf)
			}
		})
	}
}

// A renewed certificate with another CA is served when the registrations carry that CA, or when the one before has expired.
func TestRenewedFilesAreServedWhenTheyAreTrusted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := &files{folder: t.TempDir(), hosts: testIssuer.Hosts}
	renew := func(at time.Time) *kept {
		made, err := testIssuer.carryOut(rotation.Make, nil, at)
		if err != nil {
			t.Fatal(err)
		}
		data, err := made.data()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{keyLeaf, keyLeafKey, keyBundle} {
			if err := os.WriteFile(filepath.Join(f.folder, name), data[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return made
	}
	serves := func(want *kept, carries string, at time.Time) {
		t.Helper()
		found, _, err := f.current(t.Context(), func(id string) bool { return id == carries }, at)
		if err != nil || !found.leaf.Leaf.Equal(want.leaf.Leaf) {
			t.Fatalf("it serves another leaf, or has the error %v", err)
		}
	}
	first := renew(now)
	old := certificate.ID(first.signing.Cert)
	serves(first, "", now) // there is no other
	second := renew(now.Add(time.Hour))
	serves(first, old, now.Add(time.Hour))
	serves(second, certificate.ID(second.signing.Cert), now.Add(time.Hour))
	expired := second.leaf.Leaf.NotAfter.Add(time.Second)
	serves(renew(expired), old, expired)
}
