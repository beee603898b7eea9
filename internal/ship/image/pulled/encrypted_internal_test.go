package pulled

import (
	"net/http"
	"strings"
	"testing"
)

// A registry that asks for credentials at an address without TLS does not get them.
func TestCredentialsNeedTLS(t *testing.T) {
	t.Parallel()
	for url, refused := range map[string]bool{"http://tokens.example.com/a": true, "https://tokens.example.com/a": false, "http://127.0.0.1:5000/a": false} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Basic YTpi")
		sent := false
		_, err = encrypted{roundTripper(func(*http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{Body: http.NoBody}, nil
		})}.RoundTrip(request)
		if sent == refused || refused != (err != nil && strings.Contains(err.Error(), "without TLS")) {
			t.Errorf("%s: sent %v, error %v", url, sent, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
