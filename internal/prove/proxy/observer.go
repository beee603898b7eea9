package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// observer reads the metadata of objects independently of the operator.
type observer struct {
	transport http.RoundTripper
	target    *url.URL
}

// newObserver returns an observer, or nil if config is nil.
func newObserver(config *rest.Config) (*observer, error) {
	if config == nil {
		return nil, nil
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("the observer's connection to the API server: %w", err)
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the observer's API server: %w", err)
	}
	return &observer{transport, target}, nil
}

// absent stands for the version of an object that does not exist.
const absent = "0"

// version returns the resource version of the object of a request, [absent] if it does not exist, or ""
// if that cannot be determined. It requests only the metadata.
func (o *observer) version(ctx context.Context, r *requestlog.Request) string {
	if o == nil || r.Name == "" || r.Resource == "" {
		return ""
	}
	path := strings.TrimSuffix(strings.TrimSuffix(r.Path, "/"), "/"+r.Subresource)
	if !strings.HasSuffix(path, "/"+r.Name) {
		return "" // the path continues beyond the object, to a target of the API server's own proxy
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.target.JoinPath(path).String(), nil)
	if err != nil {
		return ""
	}
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
	response, err := o.transport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	switch response.StatusCode {
	case http.StatusOK:
		meta, _ := requestlog.MetaOf(response.Header.Get("Content-Type"), body)
		return meta.ResourceVersion
	case http.StatusNotFound:
		return absent
	}
	return ""
}

// newest returns the newest resource version of the cluster, or 0 if it cannot be determined.
func (o *observer) newest(ctx context.Context) uint64 {
	to := o.target.JoinPath("/api/v1/namespaces")
	to.RawQuery = "limit=1" // a list without a resource version returns the newest state
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return 0
	}
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	response, err := o.transport.RoundTrip(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return 0
	}
	meta, _ := requestlog.MetaOf(response.Header.Get("Content-Type"), body)
	return resourceclient.Revision(meta.ResourceVersion)
}

// before records the version of the object before a write, if the request does not contain it.
func (p *Proxy) before(ctx context.Context, r *requestlog.Request) {
	switch r.Verb {
	case "update", "patch", "delete":
		switch {
		case r.DryRun:
		case r.Asked != "" && r.Verb != "delete":
			r.Before = r.Asked // the server rejects the write if the object has another version
		default:
			r.Before = p.version(ctx, r)
		}
	}
}

// version returns the resource version of the object of a request, [absent] if it does not exist, or ""
// if that cannot be determined. It uses the Before option if possible, or the version of the operator's own last write
// if that is newer, and otherwise the observer.
func (p *Proxy) version(ctx context.Context, r *requestlog.Request) string {
	if p.options.Before != nil {
		if seen, ok := p.options.Before(*r); ok {
			if own := p.clock.own(r); resourceclient.Revision(own) > resourceclient.Revision(seen) {
				return own
			}
			return seen
		}
	}
	return p.observer.version(ctx, r)
}

// effect determines the effect of a write after the response of the server.
func (p *Proxy) effect(ctx context.Context, r *requestlog.Request, answer requestlog.Meta) requestlog.Effect {
	switch {
	case !r.IsWrite():
		return ""
	case r.DryRun, r.Served >= 400 && r.Served < 500:
		if r.Before == r.Asked {
			r.Before = ""
		}
		return requestlog.Unchanged
	case r.Served >= 300:
		return requestlog.Unknown
	case r.Resource == "", answer.Kind == "Status" && r.Verb != "delete", r.Verb == "deletecollection":
		return requestlog.Unknown
	case r.Verb == "create":
		if r.After == "" {
			return requestlog.Unchanged // a review or a token, which is not stored
		}
		return requestlog.Changed
	case r.Verb == "delete":
		return p.deleted(ctx, r, answer)
	case r.Served == http.StatusCreated:
		return requestlog.Changed
	}
	if answer.Deleting && r.Before == r.After && p.observer.version(ctx, r) == absent {
		return requestlog.Changed // the last finalizer was removed, and the object was deleted
	}
	return compared(r.Before, r.After)
}

// deleted returns the effect of a deletion. The server responds that it is done, or with the object: either
// unchanged, or waiting for its finalizers, since this request or an earlier one.
func (p *Proxy) deleted(ctx context.Context, r *requestlog.Request, answer requestlog.Meta) requestlog.Effect {
	switch {
	case answer.Kind == "Status", !answer.Deleting:
		return requestlog.Changed
	case r.Before == r.After && p.observer.version(ctx, r) == absent:
		return requestlog.Changed // it no longer had to wait for finalizers
	}
	return compared(r.Before, r.After)
}

// compared returns the effect of a write from the versions before and after it.
//
// Caveats: a change by another client between the two is attributed to the request.
func compared(before, after string) requestlog.Effect {
	switch {
	case before == "" || after == "":
		return requestlog.Unknown
	case before == after:
		return requestlog.Unchanged
	}
	return requestlog.Changed
}
