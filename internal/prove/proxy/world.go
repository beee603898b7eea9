package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// World is the part of a cluster that an operator sees as the whole cluster. With several worlds, operators can
// run in parallel on one cluster, each as if it were alone.
//
// Guarantees: lists and watches across all namespaces show only the world's objects, and only the world's
// namespace. Selectors, encodings and pages are as requested.
// Caveats: requests that name a namespace, and requests for cluster-scoped objects, pass unchanged. The permissions
// in the namespace apply: an operator without permission to read across all namespaces does not
// notice that. The request log contains the original request.
type World struct {
	// Namespace is the namespace of the world. If it is empty, the operator sees the cluster as it is.
	Namespace string
}

// narrow changes a list or watch across namespaces to a request for the operator's world.
func (p *Proxy) narrow(ctx context.Context, x *exchange, to *url.URL) error {
	own := p.options.World.Namespace
	if own == "" || x.Namespace != "" || x.Verb != "list" && x.Verb != "watch" || path.Base(to.Path) != x.Resource {
		return nil
	}
	if x.Group == "" && x.Resource == "namespaces" {
		if x.Name == "" {
			only(to, own)
			x.Within = own
		}
		return nil
	}
	isIn, err := p.scopes.namespaced(ctx, x)
	if err != nil || !isIn {
		return err
	}
	to.Path = path.Dir(to.Path) + "/namespaces/" + own + "/" + x.Resource
	to.RawPath = ""
	x.Within = own
	return nil
}

// only restricts a request for namespaces to one namespace.
func only(to *url.URL, namespace string) {
	query := to.Query()
	selector := fields.OneTermEqualSelector("metadata.name", namespace).String()
	if asked := query.Get("fieldSelector"); asked != "" {
		selector = asked + "," + selector
	}
	query.Set("fieldSelector", selector)
	to.RawQuery = query.Encode()
}

// scopes caches which resources are namespaced, from discovery, for the API versions that were requested.
type scopes struct {
	client http.RoundTripper
	target *url.URL

	mu    sync.RWMutex
	known map[string]map[string]bool // by the path of an API version, then by resource
}

// namespaced reports whether a request's resource is namespaced. It queries discovery if the resource is not
// known yet, because the resource may be new.
func (s *scopes) namespaced(ctx context.Context, x *exchange) (bool, error) {
	version := "/api/" + x.Version
	if x.Group != "" {
		version = "/apis/" + x.Group + "/" + x.Version
	}
	s.mu.RLock()
	isIn, ok := s.known[version][x.Resource]
	s.mu.RUnlock()
	if ok {
		return isIn, nil
	}
	found, err := s.discover(ctx, version)
	if err != nil {
		return false, fmt.Errorf("find out whether %s is in namespaces: %w", x.Resource, err)
	}
	s.mu.Lock()
	s.known[version] = found
	s.mu.Unlock()
	return found[x.Resource], nil
}

// discover requests the resources of an API version. The result is empty if the version does not exist.
func (s *scopes) discover(ctx context.Context, version string) (map[string]bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.target.JoinPath(version).String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.client.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	found := map[string]bool{}
	if response.StatusCode == http.StatusNotFound {
		return found, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", version, response.Status)
	}
	var list metav1.APIResourceList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return nil, err
	}
	for _, resource := range list.APIResources {
		if !strings.Contains(resource.Name, "/") {
			found[resource.Name] = resource.Namespaced
		}
	}
	return found, nil
}
