package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// client sends spans by OTLP over HTTP. OpenTelemetry's own client for that depends on gRPC,
// which would be a sixth of the size of an operator.
type client struct {
	http     http.Client
	timeout  time.Duration
	endpoint string
	headers  http.Header
	compress bool
}

// Start does nothing, because the first request opens a connection.
func (c *client) Start(context.Context) error { return nil }

// Stop does nothing, for the same reason as Start.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces sends spans, and retries if the receiver requests it, until the timeout.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// The encoding is the same as of ExportTraceServiceRequest, whose package needs gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.compress {
		body = zipped(body)
	}
	for pause := timing.firstPause; ; pause = min(2*pause, timing.lastPause) {
		wait, err := c.post(ctx, body)
		if err == nil || wait < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, pause/2+rand.N(pause))): // jitter, or all replicas would retry at once
		}
	}
}

// post sends once. After an error it returns how long to wait for the next attempt, or a negative duration
// if there must be none.
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
		return -1, errors.Join(err, rejected(answer))
	}
	err = fmt.Errorf("export spans to %s: %s: %q", c.endpoint, response.Status, answer)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return retryAfter(response.Header.Get("Retry-After")), err
	}
	return -1, err
}

// retryAfter reads a header with seconds or a date; 0 means that there is none.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// rejected returns an error if the answer to an export, an ExportTraceServiceResponse, reports a partial success. The package of
// its type needs gRPC.
func rejected(answer []byte) error {
	partial, _ := wireField(answer, 1).([]byte)
	spans, _ := wireField(partial, 1).(uint64)
	reason, _ := wireField(partial, 2).([]byte)
	if spans == 0 && len(reason) == 0 {
		return nil
	}
	return fmt.Errorf("the collector rejected %d spans: %q", spans, reason)
}

// wireField returns a field of an encoded message: a uint64 or bytes, nil if it is missing.
func wireField(message []byte, wanted protowire.Number) any {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		size := tag + protowire.ConsumeFieldValue(number, kind, message[max(0, tag):])
		if tag < 0 || size < tag {
			return nil
		}
		switch value := message[tag:size]; {
		case number == wanted && kind == protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			return n
		case number == wanted && kind == protowire.BytesType:
			content, _ := protowire.ConsumeBytes(value)
			return content
		}
		message = message[size:]
	}
	return nil
}

func zipped(data []byte) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, _ = writer.Write(data) // writes to a buffer do not fail
	_ = writer.Close()
	return buffer.Bytes()
}
