// Package metricsauth decides who may read the metrics of an operator: whom the API server knows by the token of the request,
// and whom it allows to get the path. Metrics can therefore be read over an encrypted connection with a Role, without a proxy
// in front of the operator.
//
//	metricsserver.Options{SecureServing: true, FilterProvider: metricsauth.Filter}
//
// The operator must have permission to create TokenReviews and SubjectAccessReviews. Results are cached for a minute, so that
// a scrape usually causes no request to the API server.
package metricsauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// most is the number of cached results for authenticated clients, and the number for other clients.
	most = 256
	// questionsAtOnce and questionsEvery limit the requests to the API server that unknown tokens cause.
	questionsAtOnce = 50
	questionsEvery  = rate.Limit(10)
)

// Filter is a metricsserver.Options.FilterProvider.
func Filter(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	access, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &guard{tokens: tokens, access: access, log: log, next: next, known: cache.NewLRUExpireCache(most), trusted: cache.NewLRUExpireCache(most), unknown: cache.NewLRUExpireCache(most), questions: rate.NewLimiter(questionsEvery, questionsAtOnce)}, nil
	}, nil
}

// guard protects the metrics.
type guard struct {
	tokens authenticationclient.TokenReviewsGetter
	access authorizationclient.SubjectAccessReviewsGetter
	log    logr.Logger
	next   http.Handler

	// known and unknown contain the cached results, by key. Made-up tokens only displace each other.
	known, unknown *cache.LRUExpireCache
	// trusted are the keys of requests that were permitted when they were asked about last. They are not limited.
	trusted *cache.LRUExpireCache
	// questions limits the requests to the API server that unknown tokens cause.
	questions *rate.Limiter
}

// key identifies a result: a token, of which only the hash is stored, and a path.
type key struct {
	token [sha256.Size]byte
	path  string
}

// ServeHTTP forwards permitted requests, and responds to all others like an API server.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is || token == "" {
		http.Error(w, "Unauthorized: send the token of a ServiceAccount", http.StatusUnauthorized)
		return
	}
	status, err := g.status(r.Context(), token, r.URL.Path)
	if err != nil {
		g.log.Error(err, "cannot find out who may read metrics")
		http.Error(w, "Internal Server Error: the API server could not be asked", http.StatusInternalServerError)
		return
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	g.next.ServeHTTP(w, r)
}

// status returns the status code of the response to a request.
func (g *guard) status(ctx context.Context, token, path string) (int, error) {
	asked := key{sha256.Sum256([]byte(token)), path}
	if status, fresh := g.remembers(asked); fresh {
		return status, nil
	}
	if _, trusted := g.trusted.Get(asked); !trusted && !g.questions.Allow() {
		return http.StatusTooManyRequests, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timing.patience)
	defer cancel()
	status, err := g.ask(ctx, token, path)
	if err == nil {
		g.remember(asked, status)
	}
	return status, err
}

func (g *guard) remembers(asked key) (int, bool) {
	for _, answers := range []*cache.LRUExpireCache{g.known, g.unknown} {
		if status, is := answers.Get(asked); is {
			return status.(int), true
		}
	}
	return 0, false
}

func (g *guard) remember(asked key, status int) {
	answers := g.known
	if status == http.StatusUnauthorized {
		answers = g.unknown
	}
	answers.Add(asked, status, timing.remembered)
	g.trusted.Remove(asked)
	if status == http.StatusOK {
		g.trusted.Add(asked, status, timing.trusted)
	}
}

// ask queries the API server for the user of the token, and for the permissions of that user.
func (g *guard) ask(ctx context.Context, token, path string) (int, error) {
	who, err := g.tokens.TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	if user.Username == "" {
		return 0, errors.New("the API server names no user")
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may, err := g.access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
