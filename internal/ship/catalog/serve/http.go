package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// minCompressed is the size from which a response is compressed, in bytes: less fits into one packet.
const minCompressed = 1400

// maxHeader is the size of a request in bytes.
const maxHeader = 64 << 10

func newHTTP(l *live) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/all", func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, store.Filter{}) })
	mux.HandleFunc("GET /api/v1/metas", func(w http.ResponseWriter, r *http.Request) {
		f, err := filterOf(r.URL.RawQuery)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.serve(w, r, f)
	})
	return &http.Server{
		Handler: mux, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: timing.header, ReadTimeout: timing.request, WriteTimeout: timing.response, IdleTimeout: timing.idle,
	}
}

// filterOf returns the filter of a query. A parameter that is not known is an error, because without it the answer would be another one.
func filterOf(query string) (store.Filter, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return store.Filter{}, fmt.Errorf("the query cannot be read: %w", err)
	}
	for name, all := range values {
		if !slices.Contains([]string{"schema", "package", "name"}, name) {
			return store.Filter{}, fmt.Errorf("unknown parameter %q: want schema, package or name", name)
		}
		if len(all) > 1 {
			return store.Filter{}, fmt.Errorf("the parameter %s occurs %d times: want it once", name, len(all))
		}
	}
	return store.Filter{Schema: values.Get("schema"), Package: values.Get("package"), Name: values.Get("name")}, nil
}

// serve writes objects of the catalog as JSON lines.
func (l *live) serve(w http.ResponseWriter, r *http.Request, f store.Filter) {
	out := &response{to: w, accepted: acceptsGzip(r)}
	err := l.use(func(s *store.Store) error {
		head := w.Header()
		head.Set("Content-Type", "application/jsonl")
		head.Set("Vary", "Accept-Encoding")
		head.Set("Etag", `W/"`+s.Digest()[:32]+`"`)
		head.Set("Last-Modified", s.Modified().Format(http.TimeFormat))
		if unchanged(r, head.Get("Etag"), s.Modified()) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if r.Method == http.MethodHead {
			return nil
		}
		if err := s.WriteLines(out, f); err != nil {
			return err
		}
		return out.end()
	})
	if err != nil {
		out.fail(err)
	}
}

// unchanged reports whether the client has the content already.
func unchanged(r *http.Request, tag string, modified time.Time) bool {
	if tags := r.Header.Get("If-None-Match"); tags != "" {
		for one := range strings.SplitSeq(tags, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.Truncate(time.Second).After(since)
}

// acceptsGzip reports whether a client accepts compressed content.
func acceptsGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		_, value, limited := strings.Cut(quality, "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return !limited || err == nil && q > 0
	}
	return false
}

// response is the body of a response, which is compressed if it is large.
type response struct {
	to       http.ResponseWriter
	accepted bool
	// begin is what was written before the size was known to be large.
	begin bytes.Buffer
	out   io.WriteCloser
}

func (r *response) Write(content []byte) (int, error) {
	if r.out == nil {
		if r.begin.Len()+len(content) < minCompressed {
			return r.begin.Write(content)
		}
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	return r.out.Write(content)
}

// open sends what was written so far.
func (r *response) open() error {
	r.out = plain{r.to}
	if r.accepted {
		compressed, err := gzip.NewWriterLevel(r.to, gzip.BestSpeed)
		if err != nil {
			return err
		}
		r.to.Header().Set("Content-Encoding", "gzip")
		r.out = compressed
	}
	_, err := r.out.Write(r.begin.Bytes())
	return err
}

// plain is a body that is not compressed.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

func (r *response) end() error {
	if r.out != nil {
		return r.out.Close()
	}
	_, err := r.to.Write(r.begin.Bytes())
	return err
}

// fail answers with an error. If the response has begun, the connection is closed, so that the client does not take a part for the whole.
func (r *response) fail(err error) {
	if r.out != nil || !errors.Is(err, store.ErrCorrupt) {
		panic(http.ErrAbortHandler)
	}
	r.to.Header().Set("Retry-After", "1")
	http.Error(r.to, err.Error()+"; it is being rebuilt, try again", http.StatusServiceUnavailable)
}
