package proxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/proxy"
)

// loud starts a server that upgrades each connection and sends each received line back twice.
func loud(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer connection.Close()
		fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nWho: %s\r\n\r\n", r.Header.Get("Upgrade"), r.Header.Get("Authorization"))
		for both.Flush() == nil {
			line, err := both.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(both, line, line)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// An upgraded connection transfers data in both directions, with the operator's credentials, until one side ends it.
func TestUpgradesPassBothWays(t *testing.T) {
	t.Parallel()
	server := loud(t)
	config := &rest.Config{Host: server.URL, BearerToken: "of-the-operator", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		p, err := proxy.Start(proxy.Options{Server: config})
		if err != nil {
			t.Fatal(err)
		}
		connection, response, reader := upgrade(t, p, protocol)
		if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Who") != "Bearer of-the-operator" {
			t.Errorf("%s: %s %v", protocol, response.Status, response.Header)
		}
		for _, word := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(connection, word); err != nil {
				t.Fatal(err)
			}
			heard := make([]byte, 2*len(word))
			if _, err := io.ReadFull(reader, heard); err != nil || string(heard) != word+word {
				t.Errorf("%s: heard %q, %v", protocol, heard, err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := reader.ReadByte(); err == nil {
			t.Error("the connection outlives the proxy")
		}
		all := p.Record().Requests()
		if len(all) != 1 || all[0].Subresource != "exec" || all[0].Status != http.StatusSwitchingProtocols {
			t.Errorf("recorded are %v", all)
		}
	}
}

// upgrade requests an upgraded connection like a client without a library for it.
func upgrade(t *testing.T, p *proxy.Proxy, protocol string) (*tls.Conn, *http.Response, *bufio.Reader) {
	t.Helper()
	config := p.Config()
	at, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	raw, err := dialer.DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	_, err = fmt.Fprintf(raw, "POST /api/v1/namespaces/a/pods/p/exec?command=sh HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		at.Host, config.BearerToken, protocol)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(raw)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw.(*tls.Conn), response, reader
}
