package reconcilelog

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Path is the path at which an operator describes itself, and below it its reconciles.
const Path = "/debug/operon"

// clusterScope stands for the namespace of an object that has none.
const clusterScope = "-"

// Serve adds the endpoint to a server:
//
//	GET /debug/operon                                     an Operator
//	GET /debug/operon/objects/{kind}/{namespace}/{name}   an Object
//
// kind is Kind or Kind.group, case-insensitive; namespace is - for an object without a namespace.
// Only requests from this machine are answered, because messages of conditions may be confidential;
// requests by `kubectl port-forward` come from this machine too.
func (s *Store) Serve(mux *http.ServeMux) {
	mux.HandleFunc("GET "+Path, local(s.serveOperator))
	mux.HandleFunc("GET "+Path+"/objects/{kind}/{namespace}/{name}", local(s.serveObject))
}

// local rejects clients that are not on this machine, and pages of other sites in a browser on this
// machine.
func local(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !peer.Addr().Unmap().IsLoopback() || !namesThisMachine(r.Host) {
			problem(w, http.StatusForbidden, "this is served on loopback only; from elsewhere, use kubectl port-forward")
			return
		}
		next(w, r)
	}
}

func namesThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (s *Store) serveOperator(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	operator := s.operator
	s.mu.Unlock()
	answer(w, http.StatusOK, operator)
}

func (s *Store) serveObject(w http.ResponseWriter, r *http.Request) {
	kinds := s.kinds(r.PathValue("kind"))
	if len(kinds) != 1 {
		problem(w, http.StatusNotFound, s.whichKind(r.PathValue("kind"), kinds))
		return
	}
	namespace := strings.TrimPrefix(r.PathValue("namespace"), clusterScope)
	object, ok := s.object(key{kinds[0], namespace, r.PathValue("name")})
	if !ok {
		problem(w, http.StatusNotFound, fmt.Sprintf("no reconcile of %s %s is known: there was none since the operator started, or it was dropped for newer ones", kinds[0].Kind, r.PathValue("name")))
		return
	}
	answer(w, http.StatusOK, object)
}

// whichKind returns why a name does not identify exactly one kind.
func (s *Store) whichKind(text string, found []schema.GroupKind) string {
	if len(found) > 1 {
		return fmt.Sprintf("%s is a kind of several groups: name one of %v", text, found)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, kind := range s.operator.Kinds {
		names = append(names, kind.Kind)
	}
	return fmt.Sprintf("%s does not manage the kind %s, but %s", s.operator.Name, text, strings.Join(names, ", "))
}

func problem(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"error": text})
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // the client has disconnected
}
