package bucket

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// S3 is a bucket of an object store that speaks S3. The bucket has to be there.
type S3 struct {
	// Endpoint is where the store is, with its scheme. The bucket is the first part of paths.
	Endpoint string
	// Region of the store. Default: us-east-1.
	Region string
	// Bucket is its name, Prefix what the names of all files begin with; the latter may be empty.
	Bucket, Prefix string
	// Credentials are asked for by each request, so that they may expire and be renewed. They are in no
	// error.
	Credentials func(ctx context.Context) (Credentials, error)
	// Client may be nil.
	Client *http.Client

	now func() time.Time // for tests
}

// Credentials are who a request is from. Token may be empty.
type Credentials struct{ Key, Secret, Token string }

// Put implements Bucket. The content is read twice: it is signed with its digest.
func (s S3) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	digest := sha256.New()
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	length, err := io.Copy(digest, content)
	if err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	answer, err := s.do(ctx, http.MethodPut, name, request{io.NopCloser(content), length, hex.EncodeToString(digest.Sum(nil))})
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return answer.Body.Close()
}

// Get implements Bucket.
func (s S3) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	answer, err := s.do(ctx, http.MethodGet, name, request{digest: nothing})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	return answer.Body, nil
}

// Delete implements Bucket.
func (s S3) Delete(ctx context.Context, name string) error {
	answer, err := s.do(ctx, http.MethodDelete, name, request{digest: nothing})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return answer.Body.Close()
}

// request is what a request carries.
type request struct {
	body   io.ReadCloser
	length int64
	digest string
}

// nothing is the digest of no content.
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// do sends a request, and makes an error of an answer that is none.
func (s S3) do(ctx context.Context, method, name string, content request) (*http.Response, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	base, err := url.Parse(s.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || s.Bucket == "" {
		return nil, fmt.Errorf("the object store needs an endpoint such as https://host, not %q, and a bucket", s.Endpoint)
	}
	if s.Credentials == nil {
		return nil, errors.New("the object store has no credentials")
	}
	who, err := s.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the credentials of the object store: %w", err)
	}
	sent, err := http.NewRequestWithContext(ctx, method, base.JoinPath(s.Bucket, s.Prefix+name).String(), content.body)
	if err != nil {
		return nil, err
	}
	if sent.ContentLength = content.length; content.length == 0 {
		sent.Body = http.NoBody // whose length is known
	}
	now := time.Now
	if s.now != nil {
		now = s.now
	}
	sign(sent, who, cmp.Or(s.Region, "us-east-1"), content.digest, now())
	answer, err := cmp.Or(s.Client, http.DefaultClient).Do(sent)
	if err != nil {
		return nil, err
	}
	return answer, refusal(answer)
}

// maxRefusal is how much of a refusal is read.
const maxRefusal = 64 << 10

// refusal is the error that an answer is, and closes it then.
func refusal(answer *http.Response) error {
	if answer.StatusCode < 300 {
		return nil
	}
	defer answer.Body.Close()
	var said struct{ Code, Message string }
	if err := xml.NewDecoder(io.LimitReader(answer.Body, maxRefusal)).Decode(&said); err != nil {
		said.Code = http.StatusText(answer.StatusCode) // not in the store's words
	}
	if answer.StatusCode == http.StatusNotFound && said.Code != "NoSuchBucket" {
		return fs.ErrNotExist
	}
	return fmt.Errorf("the object store answers %d: %s: %s", answer.StatusCode, said.Code, said.Message)
}

// sign signs a request, all of its headers, by version 4 of the store's signatures.
func sign(r *http.Request, who Credentials, region, digest string, now time.Time) {
	at := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", at)
	r.Header.Set("X-Amz-Content-Sha256", digest)
	if who.Token != "" {
		r.Header.Set("X-Amz-Security-Token", who.Token)
	}
	names, lines := []string{"host"}, []string{"host:" + r.URL.Host}
	for name, values := range r.Header {
		names = append(names, strings.ToLower(name))
		lines = append(lines, strings.ToLower(name)+":"+strings.TrimSpace(strings.Join(values, ",")))
	}
	slices.Sort(names)
	slices.Sort(lines)
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, strings.Join(lines, "\n") + "\n", signed, digest}, "\n")
	scope := strings.Join([]string{at[:8], region, "s3", "aws4_request"}, "/")
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + who.Secret)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s", who.Key, scope, signed, hex.EncodeToString(mac(key, text))))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
