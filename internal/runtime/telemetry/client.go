package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP. OpenTelemetry's own client for that brings gRPC along,
// which would be a sixth of an operator.
type client struct {
	http     http.Client
	timeout  time.Duration
	endpoint string
	headers  http.Header
	compress bool
}

// Pauses between attempts, where the receiver does not say.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Start and Stop are nothing, as a connection is made with the first request.
func (c *client) Start(context.Context) error { return nil }

// Stop is as Start.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces sends spans, again where the receiver asks for that, until the time is over.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// It is the same on the wire as ExportTraceServiceRequest, whose package needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.compress {
		body = zipped(body)
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		wait, err := c.post(ctx, body)
		if err == nil || wait < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, pause)):
		}
	}
}

// post sends once. After an error it says how long to wait for the next attempt, less than
// nothing for none.
func (c *client) post(ctx context.Context, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for key, values := range c.headers {
		request.Header[key] = values
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.compress {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("export spans: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode < http.StatusMultipleChoices {
		return -1, err
	}
	err = fmt.Errorf("export spans to %s: %s: %q", c.endpoint, response.Status, answer)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, err
	}
	return -1, err
}

func zipped(data []byte) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, _ = writer.Write(data) // a buffer takes everything
	_ = writer.Close()
	return buffer.Bytes()
}
