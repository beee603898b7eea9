package fast_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// document is a JSON document.
type document = map[string]any

// request sends a request and returns the status code and the response.
func (c *child) request(ctx context.Context, method, path, body string) (int, document, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.config.Host+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	kind := "application/json"
	switch {
	case strings.Contains(path, "fieldManager="):
		kind = "application/apply-patch+yaml"
	case method == http.MethodPatch:
		kind = "application/merge-patch+json"
	}
	request.Header.Set("Content-Type", kind)
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	var answer document
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %s: %w", method, path, data, err)
	}
	return response.StatusCode, answer, nil
}

// get returns a document, which must exist.
func (c *child) get(ctx context.Context, path string) (document, error) {
	code, answer, err := c.request(ctx, http.MethodGet, path, "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: %v", path, answer)
	}
	return answer, err
}

// discoveryOf returns the discovery documents by path.
func discoveryOf(ctx context.Context, c *child) (map[string]string, error) {
	all := map[string]string{}
	paths := []string{"/api", "/apis", "/api/v1"}
	groups, err := c.get(ctx, "/apis")
	if err != nil {
		return nil, err
	}
	for _, group := range groups["groups"].([]any) {
		for _, version := range group.(document)["versions"].([]any) {
			paths = append(paths, "/apis/"+version.(document)["groupVersion"].(string))
		}
	}
	for _, path := range paths {
		answer, err := c.get(ctx, path)
		if err != nil {
			return nil, err
		}
		delete(answer, "serverAddressByClientCIDRs") // the port
		all[path] = normal(answer)
	}
	return all, nil
}

// openAPIOf returns the OpenAPI documents by path.
func openAPIOf(ctx context.Context, c *child) (map[string]string, error) {
	all := map[string]string{}
	paths := []string{"/openapi/v2"}
	list, err := c.get(ctx, "/openapi/v3")
	if err != nil {
		return nil, err
	}
	for path := range list["paths"].(document) {
		paths = append(paths, "/openapi/v3/"+path)
	}
	for _, path := range paths {
		answer, err := c.get(ctx, path)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		all[path] = string(data)
	}
	return all, nil
}

// objectsOf returns all objects of a cluster by path, except Events.
func objectsOf(ctx context.Context, c *child) (map[string]string, error) {
	discovered, err := discoveryOf(ctx, c)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for version, list := range discovered {
		var resources struct {
			Resources []struct {
				Name  string
				Verbs []string
			}
		}
		if err := json.Unmarshal([]byte(list), &resources); err != nil {
			return nil, err
		}
		for _, resource := range resources.Resources {
			if resource.Name == "events" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			listed, err := c.get(ctx, version+"/"+resource.Name)
			if err != nil {
				return nil, err
			}
			for _, item := range listed["items"].([]any) {
				about := item.(document)["metadata"].(document)
				name := fmt.Sprintf("%s/%s %v/%v", version, resource.Name, about["namespace"], about["name"])
				all[unique.ReplaceAllString(name, "UNIQUE")] = normal(item)
			}
		}
	}
	return all, nil
}

// volatile are fields whose values differ between any two clusters, or that a bootstrap object has only if a client wrote it.
var volatile = []string{
	"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "lastTransitionTime", "lastUpdateTime",
	"renewTime", "acquireTime", "startTime", "time", "caBundle", "token", "ca.crt", "expirationTimestamp", "metadata.resourceVersion",
	"authentication.kubernetes.io/credential-id", "observedGeneration",
}

// unique matches the parts of values and names that differ between any two clusters.
var unique = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|apiserver-[a-z0-9]{26}|kube-api-access-[a-z0-9]{5}|127\.0\.0\.1:[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n?|:[0-9a-f]{24}\b|"targetPort":[0-9]{5}|(b-|-)[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// normal encodes a document without the parts that differ between any two clusters.
func normal(value any) string {
	strip(value)
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return unique.ReplaceAllString(data.String(), "UNIQUE")
}

func strip(value any) {
	switch value := value.(type) {
	case document:
		for _, field := range volatile {
			delete(value, field)
		}
		for _, inner := range value {
			strip(inner)
		}
	case []any:
		for _, inner := range value {
			strip(inner)
		}
	}
}

// script is a scenario that runs on one cluster. After an error, it does nothing.
type script struct {
	ctx   context.Context
	child *child
	seen  []string // the recorded responses
	err   error
}

// do sends a request, records the response and returns it.
func (s *script) do(method, path, body string) document {
	if s.err != nil {
		return nil
	}
	code, answer, err := s.child.request(s.ctx, method, path, body)
	s.err = err
	return s.note(method, path, code, answer)
}

func (s *script) note(method, path string, code int, answer document) document {
	var kept document
	data, err := json.Marshal(answer)
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if s.err == nil {
		s.err = err
	}
	s.seen = append(s.seen, fmt.Sprintf("%s %s → %d %s", method, path, code, normal(answer)))
	return kept
}

// await reads a document until the condition holds, and records it.
func (s *script) await(path string, holds func(code int, answer document) bool) document {
	return s.repeat(http.MethodGet, path, "", holds)
}

// repeat sends a request until the condition holds for the response, and records the response.
func (s *script) repeat(method, path, body string, holds func(code int, answer document) bool) document {
	if s.err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, 6*time.Minute) // longer than the resync period of quotas, which repairs a missed event
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		code, answer, err := s.child.request(ctx, method, path, body)
		if err == nil && holds(code, answer) {
			return s.note("await "+method, path, code, answer)
		}
		select {
		case <-ctx.Done():
			s.err = fmt.Errorf("waiting for %s: last answer %d %v, error %w", path, code, answer, ctx.Err())
			return nil
		case <-ticker.C:
		}
	}
}

// gone waits until an object does not exist.
func (s *script) gone(path string) {
	s.await(path, func(code int, _ document) bool { return code == http.StatusNotFound })
}

// exists waits until an object exists.
func (s *script) exists(path string) document {
	return s.await(path, func(code int, _ document) bool { return code == http.StatusOK })
}

// field returns the value at a path within a document, or nil.
func field(d document, path ...string) any {
	var value any = d
	for _, name := range path {
		inner, ok := value.(document)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}
