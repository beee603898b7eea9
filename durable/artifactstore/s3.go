package artifactstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// S3 is a bucket of an object store with an S3 API. The bucket must exist. Only these fields configure it:
// environment variables and configuration files are ignored. A request that fails temporarily is retried at most
// twice, and no longer than its context allows.
type S3 struct {
	// Endpoint is the URL of the store, with its scheme. The bucket is the first part of paths.
	Endpoint string
	// Region is the region of the store. Default: us-east-1.
	Region string
	// Bucket is the name of the bucket. Prefix is a prefix of the names of all files, and may be empty.
	Bucket, Prefix string
	// Credentials is called for each request, so that credentials may expire and be renewed. Errors do not contain
	// them.
	Credentials func(ctx context.Context) (Credentials, error)
	// Client is the HTTP client. It may be nil.
	Client *http.Client
}

// Credentials sign requests. Token may be empty.
type Credentials struct{ Key, Secret, Token string }

// Put uploads a file in one request. The content is read twice, because the request is signed with its digest.
func (s S3) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	client, err := s.open(ctx, name)
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.Bucket, Key: s.key(name), Body: content})
	if err != nil {
		return fmt.Errorf("put %s: %w", name, refusal(err))
	}
	return nil
}

// Get downloads a file. The error is fs.ErrNotExist if no file has that name.
func (s S3) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	client, err := s.open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	answer, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: s.key(name)})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, refusal(err))
	}
	return answer.Body, nil
}

// Delete removes a file. It is not an error if the file does not exist.
func (s S3) Delete(ctx context.Context, name string) error {
	client, err := s.open(ctx, name)
	if err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: s.key(name)})
	if err = refusal(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}

// maxKey is the maximum length of the prefix and name of a file, in bytes.
const maxKey = 1024

// Check returns an error if no file can have a name.
func (s S3) Check(name string) error {
	if total := len(s.Prefix) + len(name); total > maxKey {
		return invalid("%q is not a valid file name in a bucket: it has %d characters with the prefix, at most %d are possible", name, total, maxKey)
	}
	return check(name)
}

func (s S3) key(name string) *string { return aws.String(s.Prefix + name) }

// open returns a client for one request, with the current credentials.
func (s S3) open(ctx context.Context, name string) (*s3.Client, error) {
	if err := s.Check(name); err != nil {
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
	if who.Key == "" || who.Secret == "" {
		return nil, errors.New("the credentials of the object store have no key or no secret")
	}
	signer := func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: who.Key, SecretAccessKey: who.Secret, SessionToken: who.Token}, nil
	}
	return s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint,
		UsePathStyle: true,
		Region:       cmp.Or(s.Region, "us-east-1"),
		Credentials:  aws.CredentialsProviderFunc(signer),
		HTTPClient:   cmp.Or(s.Client, http.DefaultClient), // it reuses connections
		// Not every store supports the checksums that the library would add; the digest is signed anyway.
		RequestChecksumCalculation:     aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation:     aws.ResponseChecksumValidationWhenRequired,
		DisableS3ExpressSessionAuth:    aws.Bool(true), // the name of a bucket does not determine its type
		DisableMultiRegionAccessPoints: true,
	}), nil
}

// refusal returns an error with the message of the store, or of the network.
func refusal(err error) error {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPStatusCode() == 0 {
		return unsent(err)
	}
	code, message := http.StatusText(answer.HTTPStatusCode()), "" // used if the store sends no message
	var said smithy.APIError
	if errors.As(err, &said) {
		code, message = said.ErrorCode(), said.ErrorMessage()
	}
	if answer.HTTPStatusCode() == http.StatusNotFound && code != "NoSuchBucket" {
		return fs.ErrNotExist
	}
	return fmt.Errorf("the object store answers %d: %s: %s", answer.HTTPStatusCode(), code, message)
}

// unsent returns the reason why there is no response, without the text that the library adds.
func unsent(err error) error {
	var sent *url.Error
	if errors.As(err, &sent) {
		return sent
	}
	return err
}
