package fast_test

import (
	"net/http"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A front proxy acts for several users with one certificate, and names them in any header that the API server accepts.
func TestUsersOfAFrontProxyAreNotMixedUp(t *testing.T) {
	for _, header := range []string{"X-Remote-User", "X-My-User"} {
		for _, user := range []string{"alice", "bob"} {
			config := rest.AnonymousClientConfig(plane.AdminConfig())
			config.CertFile = filepath.Join(keys, "front-proxy-client.crt")
			config.KeyFile = filepath.Join(keys, "front-proxy-client.key")
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(req *http.Request) (*http.Response, error) {
					req.Header.Set(header, user)
					return next.RoundTrip(req)
				})
			})
			proxied, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			review, err := proxied.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			if err != nil {
				t.Fatalf("%s: %s: %v", header, user, err)
			}
			if name := review.Status.UserInfo.Username; name != user {
				t.Errorf("%s: %s acts as %s", header, user, name)
			}
		}
	}
}
