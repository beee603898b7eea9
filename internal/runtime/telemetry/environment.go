package telemetry

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// FromEnvironment returns a provider that exports spans as OpenTelemetry's standard variables
// specify, or nil if they name no endpoint. It has to be shut down, which sends the remaining spans.
//
// These variables are read: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE,
// _CLIENT_CERTIFICATE, _CLIENT_KEY and _PROTOCOL, of which only http/protobuf is supported, each
// also as OTEL_EXPORTER_OTLP_TRACES_…, which takes precedence; OTEL_SDK_DISABLED,
// OTEL_TRACES_EXPORTER, OTEL_SERVICE_NAME (by default the operator's name) and
// OTEL_RESOURCE_ATTRIBUTES; and the variables that the SDK reads itself, OTEL_TRACES_SAMPLER and OTEL_BSP_….
func FromEnvironment(ctx context.Context, operator string) (*sdktrace.TracerProvider, error) {
	endpoint := endpoint()
	if endpoint == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	client, err := newClient(endpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", operator)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)), nil
}

// variable reads one of the exporter's variables: the variable for traces, or the one for all signals.
func variable(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// endpoint returns where traces are sent: the endpoint for traces unchanged, or the one for all signals with a path added.
func endpoint() string {
	if own := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); own != "" {
		return own
	}
	if all := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); all != "" {
		return strings.TrimSuffix(all, "/") + "/v1/traces"
	}
	return ""
}

func newClient(endpoint string) (*client, error) {
	if protocol := variable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s: only http/protobuf is spoken", protocol)
	}
	if parsed, err := url.Parse(endpoint); err != nil || parsed.Host == "" || !strings.HasPrefix(parsed.Scheme, "http") {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT=%s: want http://HOST:PORT or https://HOST:PORT", endpoint)
	}
	headers, err := headers(variable("HEADERS"))
	if err != nil {
		return nil, err
	}
	timeout := timing.defaultTimeout
	if text := variable("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT=%s: want milliseconds", text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	compression := variable("COMPRESSION")
	if compression != "" && compression != "gzip" && compression != "none" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION=%s: want gzip or none", compression)
	}
	secured, err := tlsConfig()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = secured
	return &client{
		http: http.Client{Transport: transport}, timeout: timeout,
		endpoint: endpoint, headers: headers, compress: compression == "gzip",
	}, nil
}

// headers parses headers in the form key=value,key=value, with values escaped as in a URL.
func headers(text string) (http.Header, error) {
	headers := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS: want KEY=VALUE,KEY=VALUE") // it may hold a secret
		}
		headers.Set(strings.TrimSpace(key), value)
	}
	return headers, nil
}

func tlsConfig() (*tls.Config, error) {
	secured := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := variable("CERTIFICATE"); file != "" {
		authority, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		secured.RootCAs = x509.NewCertPool()
		if !secured.RootCAs.AppendCertsFromPEM(authority) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate", file)
		}
	}
	if file := variable("CLIENT_CERTIFICATE"); file != "" {
		pair, err := tls.LoadX509KeyPair(file, variable("CLIENT_KEY"))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		secured.Certificates = []tls.Certificate{pair}
	}
	return secured, nil
}
